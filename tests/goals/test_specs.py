"""The structs in which problems are stated to the core."""

import pickle

import numpy as np
import pytest

from memetik import _core


def test_a_struct_has_the_defaults_of_the_core_and_takes_keywords_only():
    spec = _core.TargetSpec(size=3)
    assert (spec.size, spec.form, spec.dimensions) == (3, _core.TargetForm.numbers, 1)
    with pytest.raises(TypeError):
        _core.TargetSpec(3)
    with pytest.raises(TypeError):
        _core.TargetSpec(form=_core.TargetForm.pose)
    with pytest.raises(AttributeError):
        spec.size = 4


def test_arrays_and_structs_are_fields():
    loss = _core.LossSpec(kind=_core.LossKind.huber, parameters=np.array([0.1]))
    spec = _core.TermSpec(kind=_core.TermKind.distance, loss=loss, entries=[1, 2], data=np.arange(5.0))
    assert spec.loss.kind == _core.LossKind.huber
    assert spec.entries == [1, 2]
    for copy in (spec, pickle.loads(pickle.dumps(spec)), spec.replace(weight=2.0)):
        assert np.array_equal(copy.data, np.arange(5.0))
        assert np.array_equal(copy.loss.parameters, [0.1])
    spec.data[:] = 0.0
    assert np.array_equal(spec.data, np.arange(5.0))


def test_a_struct_survives_pickling_and_replacing():
    spec = _core.TargetSpec(size=16, form=_core.TargetForm.pose, dimensions=2)
    assert _core.TargetSpec.field_names == ("size", "form", "dimensions")
    for copy in (pickle.loads(pickle.dumps(spec)), spec.replace(size=16)):
        assert repr(copy) == repr(spec)
    assert spec.replace(size=9, form=_core.TargetForm.rotation).form == _core.TargetForm.rotation
    with pytest.raises(TypeError, match="no field shape"):
        spec.replace(shape=3)
