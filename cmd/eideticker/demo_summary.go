package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/netsim/site"
)

// demoSummary is what the demo writes as summary.json and prints with --json.
type demoSummary struct {
	Browser        string `json:"browser"`
	BrowserVersion string `json:"browser_version"`
	// SharedMachine is true here: browser and recorder took each other's time.
	SharedMachine bool       `json:"shared_machine"`
	Recording     recordJSON `json:"recording"`
	Verified      bool       `json:"verified"`
	Problems      []string   `json:"problems"`
	Pages         []demoPage `json:"pages"`
	Total         demoCounts `json:"total"`
	Report        string     `json:"report"`
	Video         string     `json:"video,omitempty"`
	Summary       string     `json:"summary"`
	Notes         []string   `json:"notes"`
}

// demoCounts are what is counted per page and in total.
type demoCounts struct {
	Frames        int `json:"frames"`        // recorded from the first content frame to the last
	UniqueFrames  int `json:"unique_frames"` // of them, different from the one before
	DistinctIDs   int `json:"distinct_ids"`  // read from the strip
	DrawnFrames   int `json:"drawn_frames"`  // that the page says it drew
	UnseenFrames  int `json:"unseen_frames"` // drawn, and in no recorded frame
	LostFrames    int `json:"lost_frames"`   // not recorded
	Disagreements int `json:"disagreements"` // frames that differ without a new id, or the reverse; ids that nobody drew
}

func (c *demoCounts) add(p demoPage) {
	c.Frames += p.Frames
	c.UniqueFrames += p.UniqueFrames
	c.DistinctIDs += p.DistinctIDs
	c.DrawnFrames += p.DrawnFrames
	c.UnseenFrames += p.UnseenFrames
	c.LostFrames += p.LostFrames
	c.Disagreements += p.Disagreements
}

type demoPage struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	demoCounts
	GreenFrame int           `json:"green_frame"` // the last of the held green
	FirstFrame int           `json:"first_frame"`
	LastFrame  int           `json:"last_frame"`
	RedFrame   int           `json:"red_frame"`   // the first full red
	DurationNS int64         `json:"duration_ns"` // from the first content frame to the first full red
	SeenFPS    float64       `json:"seen_fps"`
	ClaimedFPS float64       `json:"claimed_fps"` // by the page itself
	Strip      strip.Summary `json:"strip"`
	Warnings   []string      `json:"warnings"`
	Checks     []demoCheck   `json:"checks"` // measured beside drawn beside claimed

	Results []analyze.Result `json:"results"`
	Truth   site.Truth       `json:"truth"` // as the page reports it
}

func (d *demo) summarize(r *recording.Reader) demoSummary {
	s := demoSummary{
		Browser: d.played.browser, BrowserVersion: d.played.version, SharedMachine: true,
		Recording: recordResult(d.played.source, d.played.result, nil), Summary: d.results(),
		Problems: []string{}, Notes: []string{},
	}
	s.Recording.Bytes = r.Info().Bytes
	return s
}

// agree reports whether every frame that shows another picture than the one before is unique, and the other way round.
func (s *demoSummary) agree() bool { return s.Total.Disagreements == 0 }

// failed lists what was measured otherwise than it was drawn.
func (s *demoSummary) failed() (list []string) {
	for _, p := range s.Pages {
		for _, c := range p.Checks {
			if !c.Agrees {
				list = append(list, p.Name+": "+c.What)
			}
		}
	}
	return list
}

// verdict is the error with which the demo ends if it did not show what it claims.
func (s *demoSummary) verdict() error {
	switch {
	case !s.Verified:
		return errors.New("demo: the recording does not verify")
	case !s.agree():
		return fmt.Errorf("demo: strip and pixels disagree in %s; %s has them", plural(s.Total.Disagreements, "place"), s.Summary)
	case len(s.failed()) > 0:
		return fmt.Errorf("demo: not measured as it was drawn: %s; %s has the frames", strings.Join(s.failed(), ", "), s.Summary)
	}
	return nil
}

func (s *demoSummary) print(w io.Writer) error {
	if err := s.printCounts(w); err != nil {
		return err
	}
	if err := s.printChecks(w); err != nil {
		return err
	}
	return s.list().print(w)
}

// printCounts tells how many frames and pictures there were, page by page.
func (s *demoSummary) printCounts(w io.Writer) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		rows = append(rows, p.cells(p.Title))
	}
	rows = append(rows, s.Total.cells("total"))
	if err := printTable(w, []string{"PAGE", ">FRAMES", ">UNIQUE", ">IDS SEEN", ">DRAWN", ">UNSEEN", ">LOST"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// printChecks puts what was measured beside what was drawn beside what the page says.
func (s *demoSummary) printChecks(w io.Writer) error {
	rows := [][]string{}
	for _, p := range s.Pages {
		title := p.Title
		for _, c := range p.Checks {
			claimed, verdict := "", "="
			if c.Claimed != nil {
				claimed = figureText(*c.Claimed)
			}
			if !c.Agrees {
				verdict = "DIFFERS"
			}
			rows = append(rows, []string{title, c.What, c.Measured.String(), verdict, c.Drawn.String(), c.Unit, claimed, c.Note})
			title = ""
		}
	}
	if err := printTable(w, []string{"PAGE", "", ">MEASURED", "", "DRAWN", "", ">PAGE SAYS", ""}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (c demoCounts) cells(name string) []string {
	row := []string{name}
	for _, n := range []int{c.Frames, c.UniqueFrames, c.DistinctIDs, c.DrawnFrames, c.UnseenFrames, c.LostFrames} {
		row = append(row, countText(n))
	}
	return row
}

func (s *demoSummary) list() *list {
	var l list
	rec := s.Recording
	l.add("browser", "%s, on a virtual display of %dx%d", firstOf(s.BrowserVersion, s.Browser), rec.Format.Width, rec.Format.Height)
	l.add("", "browser and recorder shared this machine: each took time from the other")
	l.add("recording", "%s: %s, %s unique", rec.Path, plural(rec.Frames, "frame"), countText(rec.UniqueFrames))
	l.add("lost", "%s, %s of them while a page played", lostCauses(rec), countText(s.Total.LostFrames))
	l.add("size", "%s for %s of pixels, %s", bytesText(rec.Bytes), bytesText(rec.RawBytes), ratioText(rec.RawBytes, rec.Bytes))
	if s.agree() {
		l.add("strip", "every frame with a picture of its own is unique, and every unique frame has one")
	} else {
		l.add("strip", "%s between ids and pixels", plural(s.Total.Disagreements, "disagreement"))
	}
	for _, p := range s.Pages {
		if len(p.Strip.Unseen) > 0 {
			l.add("unseen", "%s drew, and no frame shows: %s", p.Title, idsText(p.Strip.Unseen))
		}
	}
	if s.Verified {
		l.add("verified", "every frame decodes to what was captured")
	}
	for _, p := range s.Problems {
		l.add("problem", "%s", p)
	}
	l.add("report", "%s", s.Report)
	l.add("video", "%s", s.Video)
	l.add("summary", "%s", s.Summary)
	for _, n := range s.Notes {
		l.add("note", "%s", n)
	}
	return &l
}

// lostCauses says how many frames of the whole recording are missing and why. A browser that starts takes the machine to itself.
func lostCauses(rec recordJSON) string {
	text := countText(rec.MissingFrames)
	for i, l := range rec.Lost {
		text += []string{" (", ", "}[min(i, 1)] + countText(l.Frames) + " " + l.Cause
	}
	if len(rec.Lost) > 0 {
		text += ")"
	}
	return text
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// idsText lists ids that were drawn and not seen; a few dozen say enough.
func idsText(ids []uint32) string {
	const most = 24
	var words []string
	for _, id := range ids[:min(len(ids), most)] {
		words = append(words, fmt.Sprint(id))
	}
	if len(ids) > most {
		words = append(words, fmt.Sprintf("and %d more", len(ids)-most))
	}
	return "id " + strings.Join(words, " ")
}
