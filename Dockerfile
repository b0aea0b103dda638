# Two images of the daemon, its client and the load generator:
#
#     docker build --target cpu  -t sluice:cpu  .
#     docker build --target cuda -t sluice:cuda .
#
# Both run on Debian 12, of whose libraries the programs are made. NVIDIA publishes no image of it, and one process can't mix the C++ libraries of two
# systems: so the cuda image takes from NVIDIA's what the plugin loads, libcublasLt and, for several GPUs, libnccl, whose needs any system's C and C++
# libraries meet. The driver comes from the host.

ARG CUDA_IMAGE=nvidia/cuda:13.0.1-devel-ubuntu24.04

FROM debian:bookworm AS build
WORKDIR /src
COPY scripts/install_packages.sh scripts/
RUN scripts/install_packages.sh build && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset release -DBUILD_TESTING=OFF \
 && cmake --build --preset release --target sluiced sluice sluice-bench \
 && mkdir -p /out/bin && for program in sluiced sluice sluice-bench; do strip -o /out/bin/$program build/release/bin/$program; done

FROM ${CUDA_IMAGE} AS toolkit

FROM build AS build-cuda
COPY --from=toolkit /usr/local/cuda-13.0 /usr/local/cuda
COPY --from=toolkit /usr/include/nccl.h /usr/local/cuda/include/
COPY --from=toolkit /usr/lib/x86_64-linux-gnu/libnccl.so.2 /out/lib/
RUN cmake --preset cuda -DBUILD_TESTING=OFF \
 && cmake --build --preset cuda --target sluice_cuda \
 && mkdir -p /out/lib && strip -o /out/lib/libsluice_cuda.so build/cuda/bin/libsluice_cuda.so \
 && cp -L /usr/local/cuda/lib64/libcublasLt.so.13 /out/lib/

FROM debian:bookworm-slim AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
      libabsl20220623 libgrpc29 libgrpc++1.51 libicu72 libpcre2-8-0 libprometheus-cpp-core1.0 libprotobuf32 libsodium23 libssl3 libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin sluice
COPY configs/container.yaml /etc/sluice/sluice.yaml
VOLUME /models
EXPOSE 50051 8080
# The first drains; `docker stop -t` gives it as long as server.drain_timeout_ms.
STOPSIGNAL SIGTERM
# grpc.health.v1, which takes no key. With TLS, SLUICE_TLS_CA and SLUICE_ADDRESS tell it whom to trust and by which name.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10m --retries=3 CMD ["sluice", "health"]
ENTRYPOINT ["sluiced", "--config", "/etc/sluice/sluice.yaml"]

FROM runtime AS cuda
RUN apt-get update && apt-get install -y --no-install-recommends liburing2 && rm -rf /var/lib/apt/lists/*
COPY --from=build-cuda /out/ /usr/local/
RUN ldconfig
# What NVIDIA's container runtime mounts, where it isn't told by --gpus.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER sluice

# Last, so that it is what a build without --target makes.
FROM runtime AS cpu
COPY --from=build /out/ /usr/local/
USER sluice
