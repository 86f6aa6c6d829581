// Package link is the link between a device under test and the rig's servers. Its rate, delay and
// loss are configured.
//
// # The model
//
// A link has two directions, down to the device and up from it. Each is a pipe. A packet passes a
// pipe like a modem and a cable:
//
//  1. It joins the queue. It is lost if the queue, itself included, would have more bytes than
//     [Direction.Queue].
//  2. It leaves when the link is free: rate bits each second. The whole IP packet counts, without
//     lower layers. The time at which the link is free is computed, to a part of a nanosecond, not
//     slept. So one late wake-up does not delay later packets.
//  3. It may be lost on the way, by a Gilbert–Elliott channel (E. N. Gilbert, 1960). Its bad state
//     loses every packet and its good state none. So losses come in bursts of the given mean
//     length. A lost packet takes its time on the link, as on a real one.
//  4. It arrives after the delay, ± jitter, uniformly distributed. Packets do not overtake each
//     other, except the share that is reordered.
//
// Random numbers come from a seed. The seed alone decides the fate of the n-th packet of a
// direction.
//
// # Implementations
//
// pipe is the model alone, on its user's clock. [Packet] (Linux, root) carries IP packets through
// two pipes. They join a [Namespace] for the device's browser and one for the servers. TUN
// interfaces hand over every sent packet and accept arriving ones. A packet is stamped when it is
// read. A thread that sleeps in the kernel delivers it when it is due. A late packet does not delay
// others. The device's side may be an interface of this machine instead, with a device behind it: a
// [Segment]. [Stream] is for TCP alone. It needs no privileges, works on any system, and is
// approximate.
//
// # Observations
//
// A packet link sees every packet. [Packet.Flows] has the device's times of each connection: its
// opening, its answer, and the n-th byte of a server. All links probe themselves with packets that
// pass them ([Packet.Probe]). [Conditions.Off] lists the differences from the configuration.
package link
