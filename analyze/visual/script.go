package visual

import "math"

// ScriptPoint is a frame as the script sees it: its time in whole milliseconds, counted from the
// first frame that it keeps, and its progress in whole per cents.
type ScriptPoint struct {
	MS, Percent int
}

// ScriptFigures are the script's figures, in whole milliseconds, as browsertime reports them.
type ScriptFigures struct {
	FirstChange, LastChange, SpeedIndex int
	// Complete85, 95 and 99 are computed by browsertime from the script's progress; false where it
	// gives none.
	Complete85, Complete95, Complete99 int
	Has85, Has95, Has99                bool
}

// NewScriptFigures computes the script's figures of the frames that it keeps ([Rules.Keep]). No
// frames give zeros.
//
// First visual change is the time of the second frame, last visual change that of the last one; of
// a single frame both are its own time. The Speed Index is Σ Δt·(1 − percent/100) in float64,
// without its fraction.
func NewScriptFigures(points []ScriptPoint) ScriptFigures {
	var f ScriptFigures
	if len(points) == 0 {
		return f
	}
	f.FirstChange, f.LastChange = points[min(1, len(points)-1)].MS, points[len(points)-1].MS
	sum := 0.0
	for i := 1; i < len(points); i++ {
		p := float64(points[i-1].Percent) / 100
		sum += float64(float64(points[i].MS-points[i-1].MS) * (1 - p))
	}
	f.SpeedIndex = int(sum)
	f.scriptComplete(points)
	return f
}

// scriptComplete is browsertime's rule for visually complete, with its bugs
// (lib/video/postprocessing/visualmetrics/extraMetrics.js). A time of 0 counts as none, so the next
// frame's is used. A fall below 85 % forgets 85 % and 95 %. It forgets 99 % only at the next frame
// that is below 99 % too. A fall below 95 % forgets 95 % alone in the same way.
func (f *ScriptFigures) scriptComplete(points []ScriptPoint) {
	var at [3]int
	var has [3]bool
	for _, p := range points {
		for i, level := range [...]int{85, 95, 99} {
			if p.Percent >= level && at[i] == 0 {
				at[i], has[i] = p.MS, true
			}
		}
		switch {
		case at[0] != 0 && p.Percent < 85:
			at[0], has[0] = 0, false
			at[1], has[1] = 0, false
		case at[1] != 0 && p.Percent < 95:
			at[1], has[1] = 0, false
		case at[2] != 0 && p.Percent < 99:
			at[2], has[2] = 0, false
		}
	}
	f.Complete85, f.Complete95, f.Complete99 = at[0], at[1], at[2]
	f.Has85, f.Has95, f.Has99 = has[0], has[1], has[2]
}

// ScriptPerceptual is the script's Perceptual Speed Index in whole milliseconds. ms are the times
// of the kept frames, and ssim their SSIM to the last one ([PySSIM]). The SSIM of the first frame
// is not used: the progress is 0 until the second frame. Fewer than two frames give 0.
func ScriptPerceptual(ms []int, ssim []float64) int {
	n := min(len(ms), len(ssim))
	if n < 2 {
		return 0
	}
	sum := float64(ms[1])
	for i := 2; i < n; i++ {
		sum += float64(float64(ms[i]-ms[i-1]) * (1 - ssim[i-1]))
	}
	return int(sum)
}

// ScriptContentful is the script's Contentful Speed Index in whole milliseconds. ms are the times
// of the kept frames, and edges the number of samples on their edges. The first frame's are not
// used, neither for the maximum nor for the sum. Fewer than two frames give 0.
func ScriptContentful(ms, edges []int) int {
	n := min(len(ms), len(edges))
	if n < 2 {
		return 0
	}
	most := 0
	for _, e := range edges[1:n] {
		most = max(most, e)
	}
	sum := float64(ms[1] - ms[0])
	for i := 2; i < n; i++ {
		sum += float64(float64(ms[i]-ms[i-1]) * (1 - Contentfulness(edges[i-1], most)))
	}
	return int(sum)
}

// Contentfulness is how much of the most edges that any frame has are there; 0 where no frame has
// edges.
func Contentfulness(edges, most int) float64 {
	if most <= 0 {
		return 0
	}
	return math.Min(float64(edges)/float64(most), 1)
}
