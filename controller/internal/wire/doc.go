// Package wire connects a rig and an agent, a program on another machine. A connection is a
// websocket over TLS 1.3, and a message is a JSON value.
//
// Rig and agent share a token. Each side has a certificate whose Ed25519 key is derived from the
// token and the name of the protocol. Each side derives both keys and accepts only the other's. The
// token is never sent. Names, dates and issuers of certificates do not count, because a board may
// have no clock. Nobody without the token can read, start, change, repeat or insert anything.
//
// An attacker with a connection to the agent sees its public key. It can be compared with those of
// guessed tokens. Each guess costs 4096 iterations of PBKDF2. Use a long random token (minToken):
// "openssl rand -hex 32" makes one. The token comes from a file or the environment. It never comes
// from the command line, which all users of a machine can read. Without a token an agent listens on
// the loopback interface only.
package wire
