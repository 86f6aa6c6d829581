package analyze

import (
	"sort"

	"github.com/eideticker/eideticker/capture/frame"
)

const (
	// minShare is the fewest frames for which a part of its own is worth it: it begins with
	// decoding one frame out of order, and with looking at all of it.
	minShare = 45
	// minChanged is how many frames' worth of bytes must change in them for that.
	minChanged = 20
	// minSkimmed is the fewest frames of a part that is read without pixels.
	minSkimmed = 128
	// maxShares is how many there are for each goroutine, so that none waits long for the last
	// one.
	maxShares = 4
	// stillFrames is how many frames in which nothing changes cost as much as one of which all
	// does.
	stillFrames = 2048
)

// shares cuts the window into parts of about the same work, and returns where they begin and end:
// one number more than there are shares.
func (r *run) shares(workers int) ([]int, error) {
	from, to := r.Window.Start, r.Window.End+1
	if workers == 1 {
		return []int{from, to}, nil
	}
	if least := r.options.MinShare; least > 0 {
		return evenly(from, to, max(1, min(maxShares*workers, (to-from)/least))), nil
	}
	if !r.pixels {
		return evenly(from, to, max(1, min(maxShares*workers, (to-from)/minSkimmed))), nil
	}
	most := min(maxShares*workers, (to-from)/minShare)
	if most <= 1 {
		return []int{from, to}, nil
	}
	work, err := r.work(from, to)
	if err != nil {
		return nil, err
	}
	n := max(1, min(int64(most), work[to-from]/(minChanged*int64(r.Layout.Size))))
	cuts := []int{from}
	for k := int64(1); k < n; k++ {
		at := from + sort.Search(to-from, func(i int) bool { return work[i] >= work[to-from]*k/n })
		if at > cuts[len(cuts)-1] {
			cuts = append(cuts, at)
		}
	}
	return append(cuts, to), nil
}

func evenly(from, to, n int) (cuts []int) {
	for k := range n + 1 {
		cuts = append(cuts, from+(to-from)*k/n)
	}
	return cuts
}

// work returns for each frame, and for the end, the work before it in bytes of change.
func (r *run) work(from, to int) ([]int64, error) {
	work := make([]int64, 0, to-from+1)
	sum, still := int64(0), int64(r.Layout.Size/stillFrames)
	err := r.Walk(from, to, false, func(step *frame.Step) error {
		for len(work) <= step.Number-from {
			work = append(work, sum)
		}
		sum += still
		for _, s := range step.Change.Spans {
			sum += int64(s.End - s.Start)
		}
		return nil
	})
	for len(work) <= to-from {
		work = append(work, sum)
	}
	return work, err
}
