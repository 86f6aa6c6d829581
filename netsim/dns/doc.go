// Package dns answers for the names of the test world, and refuses all others: what a device asks
// for beyond it is told to be none of ours, and is noted. Nothing is ever asked of another server,
// so that nothing leaks out of the rig.
//
// [World] says what names there are and where they lead; [Server] speaks the protocol (RFC 1035, by
// miekg/dns) over UDP and TCP on sockets that it is given, tells of each query, and answers after
// as long as was asked.
package dns
