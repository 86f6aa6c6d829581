// Package hand splits actions into steps that devices can report at once, for drivers that press
// places.
//
// A driver plans its actions ([State.Plan]) before it does anything, so impossible actions leave
// nothing half done. It then sends the device one [Step] after the other, and keeps the state after
// the last sent one.
//
// A step names keys by their places only, has no text, and changes each thing at most once. So one
// report of a device can carry it. It is inside the screen, and only fingers that are down move.
package hand
