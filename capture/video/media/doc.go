// Package media starts eideticker-media and exchanges messages with it.
//
// Place in the flow: between the program, which is pure Go, and the one that links OpenCV and
// FFmpeg. capture/video asks it to decode a file, analyze/render to encode a video.
//
// Each job has a process of its own, and the process has one job. Both sides write messages to
// pipes: standard input and standard output of the process. A message is a byte that says its kind,
// a length of four bytes, and so many bytes. Numbers are little-endian. Each side bounds the length
// by what it expects, and rejects other kinds.
//
//	decode   J job ▶    ◀ I information, T times of packets, F frames, E end
//	encode   J job ▶    ◀ I the file is open    D draw, S slot, E end ▶    ◀ E the file is complete
//
// X replaces any answer: a [Failure]. The process ends where its standard input ends, so it never
// outlives the program. It ignores Ctrl-C, which a terminal sends to both: the program decides what
// becomes of the job.
package media
