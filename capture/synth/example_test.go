package synth_test

import (
	"fmt"
	"net/url"

	"github.com/eideticker/eideticker/capture/synth"
)

// A test of a measure renders frames and asks the scene for the answer.
func Example() {
	s, err := synth.Open("fps", url.Values{"size": {"64x48"}, "repeats": {"1,1,2"}, "frames": {"8"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	truth := s.Truth()
	pix := make([]byte, s.Info().Format.Size())
	for n := range s.Info().Frames {
		s.Render(n, pix)
		fmt.Print(pix[0], " ", truth.Changed(n), "; ")
	}
	// Output: 32 false; 143 true; 62 true; 62 false; 173 true; 92 true; 203 true; 203 false;
}
