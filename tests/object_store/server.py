"""An S3 server that keeps its objects in memory.

The Python of `make test-object-store` runs it. It prints its port. The server that comes with Moto
sends `100 Continue` twice for an upload, and Hadoop's client then fails. Waitress sends it once.
"""

from moto.server import DomainDispatcherApplication, create_backend_app
from waitress.server import create_server

server = create_server(
    DomainDispatcherApplication(create_backend_app), host="127.0.0.1", port=0, threads=8
)
print(server.effective_port, flush=True)
server.run()
