#!/usr/bin/env bash
# onnxruntime-gpu 1.31.1 on a machine without a GPU: the package says that it computes on one.
# Most would expect get_device() and get_available_providers() to say what there is, and a session that asks for CUDA
# alone to fail where CUDA cannot be loaded.
# Seen: "GPU", CUDA among the providers, and a session that runs on the CPU; only session.get_providers() tells.
set -euo pipefail
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then echo "there is a GPU here"; exit 0; fi
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q "onnxruntime-gpu==1.31.1" "onnx==1.23.2"
"$folder/venv/bin/python" - <<'PY' 2>/dev/null
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CUDAExecutionProvider"])
result = session.run(None, {"x": np.array([-2], np.float32)})[0].tolist()
print("onnxruntime", ort.__version__, ort.get_device(), ort.get_available_providers(), session.get_providers(), result)
assert ort.get_device() == "GPU" and "CUDAExecutionProvider" in ort.get_available_providers()
assert session.get_providers() == ["CPUExecutionProvider"] and result == [2.0]
PY
