"""What depends on the operating system."""

from __future__ import annotations

import socket

from triptych import host


def test_connections_to_a_socket_of_this_process_send_small_packets_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        host.send_at_once()
        with socket.create_connection(server.getsockname()), server.accept()[0] as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
