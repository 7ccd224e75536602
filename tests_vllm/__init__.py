"""The vLLM engine against a real vLLM on a CPU; `make vllm-test` runs it in a virtual environment of its own."""
