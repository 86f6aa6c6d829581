package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/controller/demo"
	"github.com/eideticker/eideticker/controller/verdict"
)

// print prints the summary and the comparison.
func (d *demoRun) print(w io.Writer) error {
	if err := d.summary.Print(w); err != nil {
		return err
	}
	if d.compared != nil {
		if err := terminal.Comparison(w, d.compared, false); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return d.list().Print(w)
}

func (d *demoRun) list() *terminal.List {
	s := d.summary
	var l terminal.List
	l.Add("browser", "%s, on a virtual display", cmp.Or(s.BrowserVersion, "unknown"))
	l.Add("", "browser and recorder shared this machine")
	l.Add("numbers", "%s", verdict.ChecksText(s.Made...))
	addRecorded(&l, s)
	if s.Verified {
		l.Add("verified", "every frame is equal to the captured one")
	}
	for _, p := range s.Problems {
		l.Add("problem", "%s", p)
	}
	for _, p := range s.Pages {
		if p.Attempt > 1 {
			l.Add("repeated", "%s; the earlier try is in %s-rejected", p.Name, filepath.Clean(p.Dir))
		}
	}
	for _, n := range s.Notes {
		l.Add("note", "%s", n)
	}
	l.Add("beside each", "%s",
		strings.Join([]string{runfolder.RecordingFile, runfolder.VideoFile, runfolder.PicturesDir +
			string(filepath.Separator)}, ", "))
	for i, path := range d.timelines {
		l.Add("late frame", "%s", d.late[i])
		l.Add("timeline", "%s; open it at ui.perfetto.dev", path)
	}
	if c := s.Comparison; c != nil {
		l.Add("comparison", "%s", c.Page)
	}
	l.Add("summary", "%s", s.Summary)
	if !d.cmd.Serve {
		l.Add("web page", "eideticker serve --data-dir %s shows the runs", d.cmd.Output)
	}
	return &l
}

// addRecorded adds the totals of all recordings.
func addRecorded(l *terminal.List, s *demo.Summary) {
	var stored, unique, missing uint64
	var bytes, raw int64
	for _, p := range s.Pages {
		if r := p.Recording; r != nil {
			stored, unique, missing, bytes, raw = stored+r.Frames, unique+r.UniqueFrames, missing+r.MissingFrames,
				bytes+r.Bytes, raw+r.RawBytes
		}
	}
	l.Add("recorded", "%s, %s unique; %s lost, %s of them in measured windows", plural(stored, "frame"),
		countText(unique), countText(missing), countText(s.Total.LostFrames))
	l.Add("size", "%s for %s of pixels, %s", bytesText(bytes), bytesText(raw), ratioText(raw, bytes))
}
