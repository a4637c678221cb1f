# The app in a container: an unprivileged user, nothing to write but the volume /data and /tmp. In a checkout:
#   docker build -f docs/deploy/triptych.Dockerfile -t triptych .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -p 127.0.0.1:8501:8501 -v triptych:/data triptych
# tests/deploy/test_container.py runs the RUN steps of the first stage, its command and its health check.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY requirements-postgres.lock requirements-build.lock ./
RUN python3 -m venv /opt/triptych
# what builds the app is locked too
RUN /opt/triptych/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-postgres.lock
RUN /opt/triptych/bin/python -m pip install --no-cache-dir --target /opt/triptych-build --require-hashes -r requirements-build.lock
COPY . .
RUN env PYTHONPATH=/opt/triptych-build /opt/triptych/bin/python -m pip install --no-cache-dir --no-deps --no-index --no-build-isolation .

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /data --no-create-home triptych && install -d -o triptych -m 0700 /data
COPY --from=build /opt/triptych /opt/triptych
ENV PATH=/opt/triptych/bin:$PATH HOME=/data TRIPTYCH_HOME=/data TRIPTYCH_LOG=json PYTHONUNBUFFERED=1 MPLCONFIGDIR=/tmp
USER triptych
VOLUME /data
EXPOSE 8501
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/readyz')"]
CMD ["triptych", "server", "run", "--address", "0.0.0.0", "--port", "8501"]
