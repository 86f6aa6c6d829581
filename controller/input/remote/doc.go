// Package remote is input through an agent. An agent is a small program on a board beside the
// device, or on the device itself. It has an input driver, and does with it what the rig asks.
//
// Place in the flow: an agent's main opens its driver and a listener ([Listen]) and serves both
// ([Serve]). On the rig, [Dial] and [Open] return an [input.Driver] that uses the agent's. wire.go
// has the connection, message.go the messages.
//
// # When it was sent
//
// The agent has a clock of its own. Each exchange with it bounds the offset from both sides: what
// the agent saw when a question came happened after the rig asked, and what it saw when it answered
// happened before the answer came. No symmetry of the way is assumed. A bound gets wider with age,
// by as much as two clocks can drift apart (maxDrift); the offset lies in what all of them leave.
// Bounds that contradict each other say that a clock was set or slept; the old ones are forgotten
// then. A time on the rig's clock is translated to the latest that it can be on the agent's, so
// that nothing happens too early, and the agent waits for it, so that the way there costs nothing:
// the rig sends shortly before, right after it has asked for the offset again. The agent's interval
// is translated back and gets wider by what is not known of the offset. Whatever the clocks say,
// nothing was sent before Do began or after its answer came.
//
// # Lost connections
//
// Rig and agent hear of each other every keepAlive. An agent that has lost its controller, or has
// not heard of it for patience, ends what it does, lifts all that is held, and tells the next
// controller that comes ([Driver.Info]). On the rig, Do returns an error that wraps input.ErrGone
// from then on; whoever wants to go on dials again.
//
// # Connection and token
//
// The connection is a websocket over TLS 1.3. A message is a JSON value of at most 1 MiB. An agent
// answers an operation that it does not have with an error that wraps errors.ErrUnsupported, so a
// newer rig can ask for more.
//
// Rig and agent share a token. Each side has a certificate whose Ed25519 key is derived from the
// token. Each side derives both keys and accepts only the other's. The token is never sent. Names,
// dates and issuers of certificates do not count, because a board may have no clock. Nobody
// without the token can read, start, change, repeat or insert anything.
//
// An attacker who can connect to the agent sees its public key, and can compare it with those of
// guessed tokens. Each guess costs 4096 iterations of PBKDF2. Use a long random token
// (minToken): "openssl rand -hex 32" makes one. The token comes from a file or the environment,
// never from the command line, which all users of a machine can read. Without a token an agent
// listens on the loopback interface only.
//
// Version 1 of the protocol used frames of its own over TCP. Both sides recognize a peer of that
// version and name it in their error.
//
// # Ownership
//
// A Driver belongs to one goroutine, and has two of its own until Close, which read and keep the
// connection alive. An agent serves one controller at a time and refuses a second one.
//
// Note: it was tried over TCP on one machine, and on simulated links with delays of all kinds and
// clocks that drift and jump; not yet between two machines.
package remote
