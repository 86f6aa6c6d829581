package report

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/eideticker/eideticker/analyze"
)

// content is what the page's template shows: texts and links, all made here.
type content struct {
	Policy string
	Style  template.CSS
	Script template.JS
	Data   template.JS

	Title       string
	About       []string // when and where, in a line below the title
	Quality     qualityView
	Windows     []windowView
	Overview    overview // of several windows
	Network     *networkView
	Film        bool
	FilmProblem string // why there is no video
	Environment []fact
	Settings    []fact
	Files       []link
	Pictures    []pictureView
	Notes       []string
	Schema      string

	film *film
}

// fact is a name and what is known of it.
type fact struct{ Name, Text string }

// link is a file. Its address is trusted: it is made of a checked name, or is the file's content.
type link struct {
	Name, Text string
	Address    template.URL
}

type qualityView struct {
	resultView
	Good    bool   // nothing is missing and nothing is to be known
	Verdict string // a sentence
	Facts   []fact // of the recording
}

// overview is a table of what stands for each measure in each window.
type overview struct {
	Columns []overviewColumn
	Rows    []overviewRow
}

// overviewColumn is one value of a measure: what stands for it in one window may be another than in
// the next.
type overviewColumn struct{ Measure, Name string }

type overviewRow struct {
	ID, Title, Frames string
	Cells             []valueView // one for each column; empty where the window has none
}

func newOverview(windows []windowView) (o overview) {
	for _, w := range windows {
		for _, tile := range w.Tiles {
			if c := columnOf(tile); !slices.Contains(o.Columns, c) {
				o.Columns = append(o.Columns, c)
			}
		}
	}
	// Those of one measure stand side by side.
	order := map[string]int{}
	for _, c := range o.Columns {
		if _, ok := order[c.Measure]; !ok {
			order[c.Measure] = len(order)
		}
	}
	slices.SortStableFunc(o.Columns, func(a, b overviewColumn) int { return order[a.Measure] - order[b.Measure] })
	for _, w := range windows {
		row := overviewRow{ID: w.ID, Title: w.Title, Frames: w.About[0], Cells: make([]valueView, len(o.Columns))}
		for _, tile := range w.Tiles {
			row.Cells[slices.Index(o.Columns, columnOf(tile))] = tile
		}
		o.Rows = append(o.Rows, row)
	}
	return o
}

// columnOf names the value after its measure alone, if it is called like it.
func columnOf(v valueView) overviewColumn {
	if v.Name == v.Measure {
		return overviewColumn{Measure: v.Measure}
	}
	return overviewColumn{v.Measure, v.Name}
}

// sentences are shown up to some, and the others on demand.
type sentences struct{ First, Rest []string }

const (
	mostSentences = 6
	mostFrames    = 4    // linked beside a value
	mostLinked    = 400  // on demand
	mostEvidence  = 24   // shown as cards
	mostTold      = 6    // sentences on a card
	mostTiles     = 6    // of a window
	mostText      = 2000 // sentences in all of a list
)

func newSentences(all []string) sentences {
	all = slices.Clone(all[:min(len(all), mostText)])
	for i := range all {
		all[i] = titled(all[i])
	}
	n := min(len(all), mostSentences)
	if len(all) == n+1 {
		n++ // one more takes no more room than to say that there is one
	}
	return sentences{all[:n], all[n:]}
}

func newContent(r *Results, from *files) *content {
	c := &content{
		Title: firstOf(r.Recording.Name, "Recording"), About: about(r),
		Environment: environment(r.Environment), Settings: settings(r.Settings), Notes: r.Notes,
		Schema: fmt.Sprintf("%s, version %d", Schema, Version),
	}
	if r.RetriedRuns > 0 {
		c.Notes = append([]string{fmt.Sprintf("This run was begun again %s before it came out.", times(r.RetriedRuns))},
			c.Notes...)
	}
	c.Quality = newQuality(r)
	if r.Video != nil {
		f, err := newFilm(r.Video, r.Recording.Frames, from)
		if err != nil {
			c.FilmProblem = titled(err.Error()) + "."
		}
		c.film, c.Film = f, f != nil
	}
	for i := range r.Windows {
		c.Windows = append(c.Windows, newWindow(i, &r.Windows[i], from))
	}
	c.Overview = newOverview(c.Windows)
	c.Network = newNetwork(r.Network, from)
	c.Pictures = pictures(r.Pictures, from)
	c.Files = runFiles(r, from)
	return c
}

func about(r *Results) []string {
	var all []string
	if r.Recording.StartedWallNS > 0 && !r.Recording.OwnClock {
		all = append(all, time.Unix(0, r.Recording.StartedWallNS).UTC().Format("2 January 2006, 15:04:05 UTC"))
	}
	for _, key := range []string{EnvDUT, EnvBrowser, EnvOS, EnvNetwork} {
		if text := r.Environment[key]; text != "" {
			all = append(all, text)
		}
	}
	return all
}

// recordingFacts tell the size of what was recorded; they stand with its quality.
func recordingFacts(r *Recording) []fact {
	all := []fact{
		{"recorded", count(r.Frames) + " frames"},
		{"duration", seconds(r.DurationNS)},
		{"size", fmt.Sprintf("%d × %d", r.Width, r.Height)},
	}
	if r.PeriodNS > 0 {
		all = append(all, fact{"rate", trimZeros(strconv.FormatFloat(1e9/float64(r.PeriodNS), 'f', 3, 64)) +
			" frames/s"})
	}
	if r.PixelFormat != "" {
		all = append(all, fact{"pixels", r.PixelFormat})
	}
	if r.OwnClock {
		all = append(all, fact{"clock", "the file’s own"})
	}
	return all
}

func newQuality(r *Results) qualityView {
	q := qualityView{Facts: recordingFacts(&r.Recording)}
	q.resultView = newResult(&r.Quality, nil)
	for i := range q.Values { // there is no window to begin at
		q.Values[i].All.Frame = 0
	}
	switch {
	case r.Quality.State == analyze.Refused:
		q.Verdict = "Nothing is known about the quality of this recording."
	case r.Recording.Lost == 1:
		q.Verdict = "1 frame is missing from this recording."
	case r.Recording.Lost > 0:
		q.Verdict = grouped(strconv.FormatUint(r.Recording.Lost, 10)) + " frames are missing from this recording."
	case r.Recording.Unclosed:
		q.Verdict = "This recording was cut off: what came at its end is missing."
	case len(r.Quality.Warnings) > 0:
		q.Verdict = "Every frame is there; see what else is to be known."
	default:
		q.Verdict, q.Good = "Every frame is there.", true
	}
	return q
}
