// Package remote is input through an agent. An agent is a small program on a board beside the
// device, or on the device itself. It has an input driver, and executes the rig's requests.
//
// An agent's main opens its driver and a listener (wire.Listen) and serves both ([Serve]). On the
// rig, [Dial] and [Open] return an [input.Driver] that uses the agent's. message.go has the
// messages.
//
// # Times
//
// The agent has a clock of its own. Each exchange bounds the offset from both sides. The agent
// received a request after the rig sent it, and sent the answer before the rig got it. The two ways
// are not assumed to be equal. A bound widens with age, by the maximum drift of two clocks
// (maxDrift). The offset is in the intersection of all bounds. Contradicting bounds mean that a
// clock was set or slept. The old ones are then forgotten.
//
// A time on the rig's clock is translated to the latest possible one on the agent's. So no action
// is early. The agent waits for that time, so the network's delay costs nothing: the rig sends
// shortly before, right after another exchange for the offset. The agent's interval is translated
// back and widened by the uncertainty of the offset. It is also cut to the time between the
// beginning of Do and its answer.
//
// # Lost connections
//
// Rig and agent send each other a message every keepAlive. An agent that has lost its controller,
// or got no message for patience, stops its actions and lifts everything. It reports this to the
// next controller ([Driver.Info]). On the rig, Do returns an error that wraps input.ErrGone from
// then on. Dial again to continue.
//
// # Connection and token
//
// Package wire has the connection and the token. An agent answers an unknown operation with an
// error that wraps errors.ErrUnsupported, so a newer rig can request more.
//
// Version 1 of the protocol used frames of its own over TCP. Both sides recognize a peer of that
// version and name it in their error.
//
// # Ownership
//
// A Driver belongs to one goroutine. It has two of its own until Close, which read and keep the
// connection alive. An agent serves one controller at a time and refuses a second one.
//
// Note: it was tested over TCP on one machine. It was also tested on simulated links with all kinds
// of delays and clocks that drift and jump. It was not tested between two machines.
package remote
