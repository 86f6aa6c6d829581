package report

import "github.com/eideticker/eideticker/analyze"

// data is what the page's program reads. Times are in nanoseconds from a base that keeps them
// small: numbers of scripts have 53 bits.
type data struct {
	Film    *film        `json:"film"`
	Width   int          `json:"width"` // of the recording, pixels
	Height  int          `json:"height"`
	Windows []windowData `json:"windows"`
}

type windowData struct {
	Name   string      `json:"name"`
	Green  int         `json:"green"`
	Start  int         `json:"start"`
	End    int         `json:"end"`
	Red    int         `json:"red"`
	From   int64       `json:"from"` // time of s
	To     int64       `json:"to"`   // time of r, or e
	T0     *int64      `json:"t0"`   // from s
	Region []int       `json:"region"`
	First  int         `json:"first"` // frame whose time stands first
	Times  []int64     `json:"times"` // of frames, from s
	Lost   []Loss      `json:"lost"`
	Charts []chartData `json:"charts"`
	Shown  []shownData `json:"shown"` // evidence, to be drawn over the video
}

// chartData is one graph: series of one unit of one measure.
type chartData struct {
	Measure string           `json:"measure"`
	Unit    string           `json:"unit"`
	Series  []analyze.Series `json:"series"`
}

type shownData struct {
	Kind   string `json:"kind"`
	Frame  int    `json:"frame"`
	Rows   []int  `json:"rows"`
	Region []int  `json:"region"`
}

// maxLines is how many series a graph holds; more than that cannot be told apart.
const maxLines = 6

func newData(r *Results, f *film) data {
	d := data{Film: f, Width: r.Recording.Width, Height: r.Recording.Height, Windows: []windowData{}}
	base := baseTime(r, f)
	if f != nil {
		moved := *f
		moved.Times = make([]int64, len(f.Times))
		for i, t := range f.Times {
			if f.Frames[i] >= 0 {
				moved.Times[i] = t - base
			}
		}
		d.Film = &moved
	}
	for i := range r.Windows {
		d.Windows = append(d.Windows, newWindowData(&r.Windows[i], base))
	}
	return d
}

// baseTime is the first time of all.
func baseTime(r *Results, f *film) int64 {
	if f != nil {
		for i, n := range f.Frames {
			if n >= 0 {
				return f.Times[i]
			}
		}
	}
	if len(r.Windows) > 0 {
		return r.Windows[0].StartNS
	}
	return 0
}

func newWindowData(w *Window, base int64) windowData {
	d := windowData{
		Name: w.Name, Green: w.Green, Start: w.Start, End: w.End, Red: w.Red, From: w.StartNS - base,
		To:     w.EndNS - base,
		Region: some(w.Region), First: w.Times.First, Times: some(w.Times.Time), Lost: some(w.Times.Lost),
		Charts: []chartData{}, Shown: []shownData{},
	}
	if w.T0 != nil {
		t0 := w.T0.AtNS - w.StartNS
		d.T0 = &t0
	}
	for i := range w.Results {
		r := &w.Results[i]
		d.Charts = append(d.Charts, charts(r)...)
		for _, e := range r.Evidence {
			d.Shown = append(d.Shown, shownData{e.Kind, e.Frame, some(e.Rows), some(e.Region)})
		}
	}
	return d
}

// charts puts series of one unit together.
func charts(r *analyze.Result) []chartData {
	var all []chartData
	for _, s := range r.Series {
		if len(s.Frames) == 0 {
			continue
		}
		i := 0
		for i < len(all) && (all[i].Unit != s.Unit || len(all[i].Series) == maxLines) {
			i++
		}
		if i == len(all) {
			all = append(all, chartData{Measure: r.Measure, Unit: s.Unit})
		}
		all[i].Series = append(all[i].Series, s)
	}
	return all
}
