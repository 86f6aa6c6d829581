// Package serve is the servers at the far end of the test network: one handler by HTTP/1.1, HTTP/2
// and HTTP/3, with certificates of an authority of the rig's own, and a witness of each connection
// and each exchange.
//
// Place in the flow: whoever makes a network opens sockets at its far end and gives them to a
// [Server]; what the server has seen ([Server.Witnessed]) goes into the waterfall of a run,
// together with what the link and the names' server have seen. Nothing is hooked in the browser.
//
// # What is seen, and where
//
// A connection's bytes are counted below TLS, as they are handed to the kernel and taken from it,
// and so are the times of HTTP/1.1. Of HTTP/2, frames are looked at between TLS and what serves
// them: which bytes are of which stream, and to which record of TLS each byte went, so that the
// offsets of a response are those of the TCP connection's own stream. Of QUIC, only the protocol's
// library sees packets; offsets are not known there, and times are those at which the response was
// handed to it.
//
// # What is bounded
//
// Connections, heads of requests, streams, what is noted, and for how long a client may keep what
// it was asked for or what was sent to it: see the constants. A client that is given up has no
// effect on others, because each connection has goroutines of its own.
package serve
