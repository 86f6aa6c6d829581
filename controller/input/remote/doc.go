// Package remote is input through an agent: a small program on a board beside the device, or on the device itself, that has a driver and does with it
// what the rig says over TCP.
//
// Place in the flow: an agent's main opens its driver and a listener ([Listen]), and has both served ([Serve]); on the rig, [Dial] or [Open] returns an
// [input.Driver] that is the agent's. The frames, messages and their limits stand in frame.go and message.go.
//
// # When it was sent
//
// The agent has a clock of its own. Each exchange with it bounds the offset from both sides: what the agent saw when a question came happened after the
// rig asked, and what it saw when it answered happened before the answer came. No symmetry of the way is assumed. A bound gets wider with age, by
// as much as two clocks can drift apart ([MaxDrift]); the offset lies in what all of them leave. Bounds that contradict each other say that a clock
// was set or slept; the old ones are forgotten then. A time on the rig's clock is translated to the latest that it can be on the agent's, so that
// nothing happens too early, and the agent waits for it, so that the way there costs nothing: the rig sends shortly before, right after it
// has asked for the offset again. The agent's interval is translated back and gets wider by what is not known of the offset. Whatever the clocks say,
// nothing was sent before Do began or after its answer came.
//
// # Lost connections
//
// Rig and agent hear of each other every [KeepAlive]. An agent that has lost its controller, or has not heard of it for [Patience], ends what it does,
// lifts all that is held, and tells the next controller that comes ([Driver.Info]). On the rig, Do returns an error that wraps input.ErrGone from then on;
// whoever wants to go on dials again.
//
// # The token
//
// The connection is not encrypted: it is made for the network of a lab, and whoever can listen there reads what is typed. Don't type secrets. The token
// is never sent. Each side sends a nonce; the rig proves that it knows the token by an HMAC-SHA-256 of both; and from then on every frame, in either
// direction, carries one under a key that is made of token and nonces, with a count. So nobody without the token can start, change, repeat or insert
// anything. Whoever has heard a handshake can try tokens at leisure: a token is long and random ([MinToken]). It comes from a file or the
// environment, never from the command line, which all users of a machine can read. Without a token an agent listens on the loopback interface only.
//
// # Ownership
//
// A Driver belongs to one goroutine, and has two of its own until Close, which read and keep the connection alive. An agent serves one controller at a
// time and refuses a second one.
//
// Note: it was tried over TCP on one machine, and on simulated links with delays of all kinds and clocks that drift and jump; not yet between two machines.
package remote
