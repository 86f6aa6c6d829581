package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// TestResponsesEndAsTheirPrioritiesSay: responses that wait for the same link each end with their
// last byte. Their order follows RFC 9218.
func TestResponsesEndAsTheirPrioritiesSay(t *testing.T) {
	const frame, frames = 16 << 10, 4
	body := make([]byte, frame*frames)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	})
	for name, tc := range map[string]struct {
		priorities []string
		ends       []int // after how many frames of bodies each has ended
	}{
		"nobody says anything":                {[]string{"", "", ""}, []int{10, 11, 12}},
		"one after the other":                 {[]string{"u=3", "", ""}, []int{4, 8, 12}},
		"together":                            {[]string{"i", "i", "i"}, []int{10, 11, 12}},
		"the more urgent first":               {[]string{"u=5", "u=3", "u=0"}, []int{12, 8, 4}},
		"what is urgent, and then all others": {[]string{"u=4, i", "u=4, i", "u=1"}, []int{11, 12, 4}},
	} {
		for _, blind := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/blind=%v", name, blind), func(t *testing.T) {
				inBubble(t, Options{Handler: handler, Blind: blind}, func(t *testing.T, s *Server, c *client2) {
					for i, p := range tc.priorities {
						c.ask(t, uint32(2*i+1), "GET", "/", p)
						synctest.Wait()
					}
					c.settled(t)
					bodies, got := 0, make([]int, len(tc.ends))
					for _, f := range c.came() {
						if f.kind == http2.FrameData {
							bodies++
						}
						if f.end {
							got[f.stream/2] = bodies
						}
					}
					if !slices.Equal(got, tc.ends) || bodies != frames*len(tc.ends) {
						t.Errorf("of %d frames, they ended with %v, want %v", bodies, got, tc.ends)
					}
					_, es := s.Witnessed()
					for _, e := range es {
						if e.Error != "" || e.Ended == 0 || e.ResponseBytes != int64(len(body)) {
							t.Errorf("%+v", e)
						}
					}
				})
			})
		}
	}
}

// TestEndsThatComeByThemselves wait for no round of the others.
func TestEndsThatComeByThemselves(t *testing.T) {
	const streams = 8
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 64<<10)) })
	inBubble(t, Options{Handler: handler}, func(t *testing.T, s *Server, c *client2) {
		for i := range uint32(streams) {
			c.ask(t, 2*i+1, "GET", "/", "i")
		}
		c.settled(t)
		last, bodies, ends := map[uint32]int{}, 0, 0
		for _, f := range c.came() {
			switch {
			case f.end:
				if ends++; bodies-last[f.stream] > 1 { // which is on its way when the handler returns
					t.Errorf("between the last bytes of %d and its end are %d frames of others", f.stream,
						bodies-last[f.stream])
				}
			case f.bytes > 0:
				bodies++
				last[f.stream] = bodies
			}
		}
		if ends != streams {
			t.Errorf("%d ends of %d", ends, streams)
		}
	})
}

// TestPrioritiesThatChange: priorities that arrive later, or before the request, count.
func TestPrioritiesThatChange(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "50000")
		_, _ = w.Write(make([]byte, 50000))
	})
	inBubble(t, Options{Handler: handler}, func(t *testing.T, s *Server, c *client2) {
		c.must(t, c.WriteRawFrame(typePriority, 0, 0, []byte("\x00\x00\x00\x05u=1")))
		c.ask(t, 1, "GET", "/", "u=3")
		c.ask(t, 3, "GET", "/", "u=3")
		c.ask(t, 5, "GET", "/", "u=4")
		c.must(t, c.WriteRawFrame(typePriority, 0, 0, []byte("\x00\x00\x00\x03u=0")))
		c.settled(t)
		var got []uint32
		for _, f := range c.came() {
			if f.end {
				got = append(got, f.stream)
			}
		}
		if !slices.Equal(got, []uint32{3, 5, 1}) {
			t.Errorf("they ended as %v", got)
		}
	})
}

// TestHeadsComeBeforeBodies of responses that are more urgent.
func TestHeadsComeBeforeBodies(t *testing.T) {
	const size = writeAtOnce // see turns
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = w.Write(make([]byte, size))
	})
	inBubble(t, Options{Handler: handler}, func(t *testing.T, s *Server, c *client2) {
		c.opens(t)
		c.ask(t, 1, "GET", "/", "u=0")
		time.Sleep(5 * time.Millisecond) // until some of it is there
		c.ask(t, 3, "GET", "/", "u=7")
		var bodies [2]int // frames of the first's body, before the head of the second and after it
		after := 0
		for _, f := range c.came() {
			switch {
			case f.stream == 3:
				after = 1
			case f.bytes > 0:
				bodies[after]++
			}
		}
		if bodies[0] == 0 || bodies[1] < 2 {
			t.Errorf("of the more urgent body %d frames came before the other's head, and %d after it", bodies[0],
				bodies[1])
		}
	})
}
