// A peer on plain Fast DDS, without ROS: asks a service of the ROS graph, in the form that rmw_fastrtps gives it.
//
//   fastdds_peer CALLS        calls /noop (std_srvs/SetBool), each with a reply; prints one JSON object
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/common/WriteParams.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <mutex>
#include <thread>
#include <vector>

using namespace eprosima::fastdds::dds;
using namespace eprosima::fastrtps::rtps;
using Bytes = std::vector<unsigned char>;
using Clock = std::chrono::steady_clock;

// A sample as its bytes, with the four of the encapsulation in front.
struct RawType : TopicDataType {
    explicit RawType(const char* name) {
        setName(name);
        m_typeSize = 4096;
    }
    bool serialize(void* data, SerializedPayload_t* payload) override {
        const auto& bytes = *static_cast<Bytes*>(data);
        std::memcpy(payload->data, bytes.data(), bytes.size());
        payload->length = bytes.size();
        payload->encapsulation = CDR_LE;
        return true;
    }
    bool deserialize(SerializedPayload_t* payload, void* data) override {
        static_cast<Bytes*>(data)->assign(payload->data, payload->data + payload->length);
        return true;
    }
    std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<uint32_t>(static_cast<Bytes*>(data)->size()); };
    }
    void* createData() override { return new Bytes; }
    void deleteData(void* data) override { delete static_cast<Bytes*>(data); }
    bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};

struct Replies : DataReaderListener {
    std::mutex mutex;
    std::condition_variable arrived;
    int64_t last = -1;
    bool success = false;
    int servers = 0;
    void on_data_available(DataReader* reader) override {
        Bytes bytes;
        SampleInfo info;
        while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK)
            if (info.valid_data && bytes.size() > 4) {
                std::lock_guard lock(mutex);
                last = info.related_sample_identity.sequence_number().to64long();
                success = bytes[4] != 0;
                arrived.notify_all();
            }
    }
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override { servers = status.current_count; }
};

int main(int, char** arguments) {
    const int calls = std::atoi(arguments[1]);
    DomainParticipantQos qos;
    qos.name("fastdds_peer");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>());
    for (int id = 0; id < 10; ++id) {
        Locator_t peer;
        IPLocator::setIPv4(peer, "127.0.0.1");
        peer.port = 7410 + 2 * id;
        qos.wire_protocol().builtin.initialPeersList.push_back(peer);
    }
    auto* participant = DomainParticipantFactory::get_instance()->create_participant(0, qos);
    TypeSupport asked(new RawType("std_srvs::srv::dds_::SetBool_Request_"));
    TypeSupport answered(new RawType("std_srvs::srv::dds_::SetBool_Response_"));
    asked.register_type(participant);
    answered.register_type(participant);
    auto* requests = participant->create_topic("rq/noopRequest", asked.get_type_name(), TOPIC_QOS_DEFAULT);
    auto* replies = participant->create_topic("rr/noopReply", answered.get_type_name(), TOPIC_QOS_DEFAULT);
    DataWriterQos writing;
    writing.reliability().kind = RELIABLE_RELIABILITY_QOS;
    DataReaderQos reading;
    reading.reliability().kind = RELIABLE_RELIABILITY_QOS;
    Replies heard;
    auto* reader = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(replies, reading, &heard);
    auto* writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(requests, writing);
    PublicationMatchedStatus matched;
    for (int tries = 0; tries < 300; ++tries) {
        writer->get_publication_matched_status(matched);
        if (matched.current_count && heard.servers) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    int answers = 0, wrong = 0;
    const auto begin = Clock::now();
    for (int k = 0; k < calls; ++k) {
        Bytes request{0, 1, 0, 0, static_cast<unsigned char>(k % 2 == 0)};
        WriteParams parameters;
        parameters.related_sample_identity().writer_guid() = reader->guid();
        writer->write(&request, parameters);
        const int64_t number = parameters.sample_identity().sequence_number().to64long();
        std::unique_lock lock(heard.mutex);
        if (!heard.arrived.wait_for(lock, std::chrono::seconds(20), [&] { return heard.last == number; })) break;
        ++answers;
        wrong += heard.success == (k % 2 == 0);
    }
    const double each = std::chrono::duration<double>(Clock::now() - begin).count() / (answers ? answers : 1);
    std::printf("{\"calls\": %d, \"wrong\": %d, \"seconds\": %g, \"matched\": %d}\n", answers, wrong, each, matched.current_count);
    std::fflush(stdout);
    std::_Exit(0);
}
