// Package certify measures how a capture path changes a signal. A known output plays numbered
// pictures, and the source at the other end is recorded. The recording is compared with the played
// pictures.
//
//	Pattern → Output ~~ cable, adapter, card ~~> capture.Source → recorder → FILE.eid → Report → Certificate
//
// [Run] plays, records and reports. The report needs the recording alone: it has the pictures and
// times as events. So kept evidence can be judged again. [Store] keeps certificates by device, for
// later recordings from it.
//
// # Blame
//
// The player knows each picture and the interval in which it reached the output. The recorder knows
// the interval in which each frame was sampled. A path is blamed only for effects that no choice of
// times within those intervals explains. A picture that was never shown is nobody's drop. A picture
// may be shown late, or for less than the source's period. A path without fault may miss it, so it
// is counted separately. So each number is exact, or has bounds.
//
// # Invariants
//
//   - A fault is named once. In a scaled picture, fine detail is not judged. If its colours were
//     changed in a known way, its bits are not counted as errors.
//   - A property that cannot be judged has the reason.
package certify
