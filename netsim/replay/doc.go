// Package replay records real sites into an archive, and answers from it later as the sites did.
//
//  1. [Recorder] is an HTTP handler between a device and the sites. It passes requests on, sends
//     the device the response as it arrives, and records each exchange with its times. [Proxy]
//     serves it to browsers that use a proxy. Behind the names of the test network it serves ports
//     80 and 443 itself.
//  2. [Writer] appends exchanges to a file as they end: see ARCHIVE.md. A crash or a full disk
//     loses only incomplete exchanges.
//  3. [Open] reads a file into an [Archive]. It may be an archive, a HAR (importHAR), or an
//     archive of Web Page Replay ([ImportWPR]).
//  4. [Replayer] is an HTTP handler that answers from an archive, with or without the recorded
//     times. It keeps a ledger of unanswered requests.
//
// Only the Recorder opens sockets, towards the sites. The program that serves the handlers decides
// on addresses and certificates. Files and messages are untrusted. All are bounded, see [Limits].
package replay
