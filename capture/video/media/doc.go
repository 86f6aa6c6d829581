// Package media starts eideticker-media and exchanges messages with it.
//
// The main program is pure Go. eideticker-media links FFmpeg. capture/video asks it to
// decode a file, and analyze/render asks it to encode a video.
//
// Each job has a process of its own, and a process has one job. Both sides write messages to the
// process's standard input and output. A message is a byte for its kind, a length of four bytes,
// and the payload. Numbers are little-endian. Each side bounds the length by the expected size, and
// rejects other kinds.
//
//	decode   J job ▶    ◀ I information, T times of packets, F frames, E end
//	encode   J job ▶    ◀ I the file is open    D draw, S slot, E end ▶    ◀ E the file is complete
//
// X, a [Failure], replaces any answer. The process ends when its standard input ends, so it never
// outlives the program. It ignores Ctrl-C, which a terminal sends to both: the program decides
// about the job.
package media
