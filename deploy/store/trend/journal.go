package trend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/eideticker/eideticker/deploy/api"
)

// line is one of the journal: a row that no run folder has, or the name of a set that was added.
// The last line about a row counts. A split is of the sets whose lines follow.
type line struct {
	Build  *api.Build       `json:"build,omitempty"`
	Gap    *Gap             `json:"gap,omitempty"`
	Change *api.SeriesShift `json:"change,omitempty"`
	Of     *SeriesKey       `json:"of,omitempty"` // series of the change, whose ID may become another
	Alert  *api.Alert       `json:"alert,omitempty"`
	Set    string           `json:"set,omitempty"`
	Split  *Split           `json:"split,omitempty"`
	// Removed is a set or run that no addition adds.
	Removed *removed `json:"removed,omitempty"`
}

const maxLine = 1 << 20

// journal is a file of JSON lines.
type journal struct{ file *os.File }

// openJournal ends a last line that was cut off.
func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	j, last := &journal{f}, []byte{'\n'}
	if st, e := f.Stat(); e != nil {
		err = e
	} else if st.Size() > 0 {
		_, err = f.ReadAt(last, st.Size()-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = f.Write([]byte{'\n'})
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *journal) close() error {
	if j == nil || j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

// append writes lines to the disk.
func (j *journal) append(lines []line) error {
	if len(lines) == 0 {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for i := range lines {
		if err := e.Encode(&lines[i]); err != nil {
			return err
		}
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return err
	}
	return j.file.Sync()
}

// replay puts all lines into an empty file. Lines that are not valid are counted in the log.
func (j *journal) replay(w *writer, log *slog.Logger) error {
	lines := bufio.NewScanner(io.NewSectionReader(j.file, 0, 1<<62))
	lines.Buffer(nil, maxLine)
	bad := 0
	for lines.Scan() {
		var l line
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || !l.valid() {
			bad++
			continue
		}
		if err := l.put(w); err != nil {
			return err
		}
	}
	w.lines = nil // they are there
	if bad > 0 || lines.Err() != nil {
		log.Error("lines of the journal of trends cannot be read", "lines", bad, "why", lines.Err())
	}
	return nil
}

func (l *line) valid() bool {
	switch {
	case l.Build != nil:
		return checkBuild(l.Build) == nil
	case l.Gap != nil:
		return l.Gap.check() == nil
	case l.Change != nil:
		return l.Of != nil && l.Change.ID > 0 && l.Of.check() == nil && checkChange(l.Change) == nil
	case l.Alert != nil:
		return l.Alert.ID > 0 && checkAlert(l.Alert) == nil
	case l.Split != nil:
		return l.Split.check() == nil
	case l.Removed != nil:
		return checkTexts(l.Removed.Name, l.Removed.By, l.Removed.Reason) == nil
	}
	return l.Set != "" && len(l.Set) <= maxText
}

func (l *line) put(w *writer) (err error) {
	switch {
	case l.Build != nil:
		return w.putBuild(l.Build)
	case l.Gap != nil:
		return w.putGap(l.Gap)
	case l.Alert != nil:
		return w.putAlert(l.Alert)
	case l.Split != nil:
		return w.putSplit(l.Split)
	case l.Removed != nil:
		return w.put("removed", l.Removed, *l)
	case l.Set != "":
		w.added[l.Set], err = w.lastSplit()
		return err
	}
	if l.Change.Series, err = w.series(l.Of, nil); err != nil {
		return err
	}
	return w.putChange(l.Change)
}
