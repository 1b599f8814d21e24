"""Messages of ROS 2 without ROS: definitions, classes, CDR bytes and type hashes."""

from memetik.ros.messages.cdr import CodecError as CodecError
from memetik.ros.messages.cdr import decode as decode
from memetik.ros.messages.cdr import encode as encode
from memetik.ros.messages.types import Message as Message
from memetik.ros.messages.types import ServiceType as ServiceType
from memetik.ros.messages.types import message_class as message_class
from memetik.ros.messages.types import service_type as service_type
from memetik.ros.messages.types import type_names as type_names
