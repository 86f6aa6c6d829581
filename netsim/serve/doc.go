// Package serve has the servers at the far end of the test network. One handler serves HTTP/1.1,
// HTTP/2 and HTTP/3, with certificates of the rig's own authority. Each connection and exchange is
// recorded.
//
// The maker of a network opens sockets at its far end and gives them to a [Server]. The server's
// records ([Server.Witnessed]) go into the run's waterfall, like those of the link and the name
// server. The browser needs no hooks.
//
// # Records
//
// A connection's bytes are counted below TLS, as the kernel takes and returns them. HTTP/1.1 gets
// its times there too. For HTTP/2, frames are parsed between TLS and the server. This finds the
// stream of each byte and its record of TLS. So offsets of a response are those of the TCP
// connection's own stream. For QUIC, only the protocol's library sees packets. Offsets are then
// unknown, and times are those at which the response was handed to it.
//
// # Bounds
//
// Connections, request heads, streams and records are bounded. So is the time for which a client
// may delay a request or a response: see the constants. A client that is given up does not affect
// others, since each connection has its own goroutines.
package serve
