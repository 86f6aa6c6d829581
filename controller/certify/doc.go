// Package certify finds out what a capture path does to a signal: a known output plays numbered
// pictures, the source at the other end is recorded, and the recording is held against what was
// played.
//
//	Pattern → Output ~~ cable, adapter, card ~~> capture.Source → rig → FILE.eid → Report → Certificate
//
// [Run] plays, records and reports. The report needs the recording alone. The recording has the
// pictures that were played as events, so kept evidence can be judged again. [Store] keeps
// certificates, by the device that they speak of, for those who record from it later.
//
// # Whose fault it is
//
// The player knows what it put on the output and when, as an interval; the recorder knows when each
// frame was sampled, as an interval. A path is blamed only for what no choice of times within those
// intervals explains. A picture that was never put is nobody's drop; one that was put late, or
// shown for less than the source's period, may have been missed by a path without fault, and is
// counted apart. So each number is exact, or stands with its bounds.
//
// # Invariants
//
//   - No fault is named twice: where a picture was scaled, its fine detail is not judged; where its
//     colours were changed in a way that has a name, its bits are not counted as errors.
//   - What cannot be judged says so and why.
package certify
