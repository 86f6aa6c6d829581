// Package replay records real sites into an archive, and answers from it later as the sites did.
//
// The flow, and who does what:
//
//  1. [Recorder] is an HTTP handler between a device and the sites: it passes requests on, sends
//     the device what comes, and notes each exchange with the times at which its parts came.
//     [Proxy] brings it to browsers that are told of a proxy; behind the names of the test network
//     it stands on the ports 80 and 443 itself.
//  2. [Writer] keeps exchanges in a file, one after the other, as they end: ARCHIVE.md says how.
//     What is cut off, by a crash or a full disk, costs what was not whole yet.
//  3. [Open] reads a file: an archive, a HAR (importHAR), or an archive of Web Page Replay
//     ([ImportWPR]), all into the same [Archive].
//  4. [Replayer] is an HTTP handler that answers from an archive, with the times of the recording
//     or without, and keeps a ledger of what it could not answer.
//
// Nothing here opens a socket but the Recorder, towards the sites; who serves the handlers decides
// on addresses and certificates. Files and messages are not trusted: all of them are bounded, see
// [Limits].
package replay
