// Package link is the line between a device under test and the servers of the rig: as fast, as far
// away and as lossy as asked.
//
// # The model
//
// A line is two directions, down to the device and up from it, each a pipe of its own. A packet
// goes through a pipe like through a modem and a cable:
//
//  1. It joins the queue, or is lost if what waits there already, itself included, were more bytes
//     than [Direction.Queue].
//  2. It leaves when the line is free: rate bits each second, all of the IP packet counted and
//     nothing below it. The time at which the line is free is computed, to a part of a nanosecond,
//     and never slept to: what oversleeps once does not slow down what follows.
//  3. It is lost on the way, or not: a Gilbert–Elliott channel, whose bad state loses all and whose
//     good state loses none, so that losses come in bursts of the mean length asked (E. N. Gilbert,
//     1960). Like on a real line, what is lost has taken its time.
//  4. It arrives after the delay, ± jitter, each value as likely as any other. Packets do not
//     overtake each other, unless they are of the share that is held back for that.
//
// Chance comes from a seed: the fates of the n-th packet of a direction are the same for the same
// seed, whatever the other settings are, and whenever it is sent.
//
// # Ways to apply it
//
// pipe is the model alone, on whatever clock its user has. [Packet] (Linux, root) carries IP
// packets through two of them, between a [Namespace] in which the device's browser runs and one for
// the servers: TUN interfaces hand over every packet that is sent, and take it when it arrives. A
// packet is stamped when it is read, and given over when it is due by a thread that sleeps in the
// kernel; being late for one changes nothing for the others. Its device's side may be an interface
// of this machine instead, with a device behind it: a [Segment]. [Stream] is for TCP alone, without
// privileges and on any system, and approximate.
//
// # What is seen
//
// A packet link sees every packet: [Packet.Flows] tells when the device opened each connection, was
// answered, and had the n-th byte of what a server sent. All lines probe themselves, by packets
// that go through them ([Packet.Probe]), and [Conditions.Off] tells what of it was not asked.
package link
