package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	logMagic = "EIDSLOG1"
	logHead  = 12 // bytes before each batch
)

// LogWriter writes script.log. It is not safe for concurrent use.
type LogWriter struct {
	w   io.Writer
	buf []byte
	err error
}

// NewLogWriter writes the head of the file. The caller closes w.
func NewLogWriter(w io.Writer) (*LogWriter, error) {
	if _, err := io.WriteString(w, logMagic); err != nil {
		return nil, fmt.Errorf("write script log: %w", err)
	}
	return &LogWriter{w: w}, nil
}

// Write appends one batch. Its arrival is in ns since the collector's start. After an error, the
// file's end is unknown and each call returns that error.
func (l *LogWriter) Write(arrival int64, raw []byte) error {
	if l.err != nil {
		return l.err
	}
	if err := checkEntry(arrival, len(raw)); err != nil {
		return fmt.Errorf("write script log: %w", err)
	}
	l.buf = binary.LittleEndian.AppendUint64(l.buf[:0], uint64(arrival))
	l.buf = binary.LittleEndian.AppendUint32(l.buf, uint32(len(raw)))
	l.buf = append(l.buf, raw...)
	if _, err := l.w.Write(l.buf); err != nil {
		l.err = fmt.Errorf("write script log: %w", err)
	}
	return l.err
}

func checkEntry(arrival int64, size int) error {
	switch {
	case arrival < 0 || arrival > maxRig:
		return fmt.Errorf("arrival %d ns is out of range", arrival)
	case size < headSize || size > MaxBatch:
		return fmt.Errorf("a batch of %d bytes; %d to %d are allowed", size, headSize, MaxBatch)
	}
	return nil
}

// LogReader reads script.log. It keeps at most one batch.
type LogReader struct {
	r   *bufio.Reader
	at  int64
	buf []byte
	err error
}

// NewLogReader checks the head of the file.
func NewLogReader(r io.Reader) (*LogReader, error) {
	l := &LogReader{r: bufio.NewReaderSize(r, 64<<10)}
	head := make([]byte, len(logMagic))
	if n, err := io.ReadFull(l.r, head); err != nil && !ended(err) {
		return nil, fmt.Errorf("read script log, byte %d: %w", n, err)
	} else if string(head[:n]) != logMagic {
		return nil, fmt.Errorf("read script log, byte 0: %q is not %s", head[:n], logMagic)
	}
	l.at = int64(len(logMagic))
	return l, nil
}

// Next returns the next batch, and its arrival in ns since the collector's start. It returns io.EOF
// at the end. A damaged or cut file is an error with the offset; all later calls return it too.
func (l *LogReader) Next() (arrival int64, b *Batch, err error) {
	if l.err == nil {
		arrival, b, l.err = l.next()
	}
	if l.err != nil {
		return 0, nil, l.err
	}
	return arrival, b, nil
}

func (l *LogReader) next() (int64, *Batch, error) {
	var head [logHead]byte
	if n, err := io.ReadFull(l.r, head[:]); err == io.EOF {
		return 0, nil, io.EOF
	} else if err != nil {
		return 0, nil, l.failure(n, err)
	}
	arrival, size := int64(binary.LittleEndian.Uint64(head[:])), int(binary.LittleEndian.Uint32(head[8:]))
	if err := checkEntry(arrival, size); err != nil {
		return 0, nil, l.failure(0, err)
	}
	if cap(l.buf) < size {
		l.buf = make([]byte, size)
	}
	if n, err := io.ReadFull(l.r, l.buf[:size]); err != nil {
		return 0, nil, l.failure(logHead+n, err)
	}
	b, err := Decode(l.buf[:size])
	if err != nil {
		return 0, nil, l.failure(logHead, err)
	}
	l.at += int64(logHead + size)
	return arrival, &b, nil
}

func (l *LogReader) failure(n int, err error) error {
	if ended(err) {
		err = errors.New("the file is cut")
	}
	return fmt.Errorf("read script log, byte %d: %w", l.at+int64(n), err)
}

func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
