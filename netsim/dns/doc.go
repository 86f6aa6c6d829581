// Package dns answers for the names of a test network. It refuses and records all others. It never
// asks another server, so names do not leak out of the rig.
//
// [World] maps names to addresses. [Server] speaks the protocol (RFC 1035, by miekg/dns) over UDP
// and TCP on given sockets. It reports each query, and answers after a given delay.
package dns
