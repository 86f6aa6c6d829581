package synth

const (
	panSteps = 240
	panStep  = 8 // pixels
)

// buildPan moves a wide page to the left and back. Rows change in every frame and none is one of
// the frame before: the weak spot of a codec that looks for equal rows.
func buildPan(k *kit) (*script, error) {
	doc, _, err := k.pageSheet(0, k.format.Width+panSteps*panStep, k.format.Height)
	if err != nil {
		return nil, err
	}
	s := &script{lead: 1, cycle: 2 * panSteps}
	s.draw = func(n uint64, list []blit) []blit {
		n %= 2 * panSteps
		if n > panSteps {
			n = 2*panSteps - n
		}
		return append(list, blit{from: doc, sx: int(n) * panStep, w: doc.w, h: doc.h})
	}
	s.truth.Scroll = &Motion{
		Frames: []Run{{1, panSteps + 1}, {panSteps + 1, 2*panSteps + 1}},
		DX:     []int{-panStep, panStep},
		DY:     []int{0, 0},
	}
	return s, nil
}
