package instrument_test

import (
	"strings"
	"testing"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
)

// TestBrief: a function that can be slow has a gate. A brief one has no insertions, unless it is
// known as slow.
func TestBrief(t *testing.T) {
	long := strings.Repeat("+a", 40)
	for src, brief := range map[string]bool{
		"function f(a){return a.b[0]===1?a:!a}":                       true,
		"function f({a,b=1}){switch(a){case 1:return `${b}`}throw a}": true,
		"const f=a=>typeof a==='string'":                              true,
		"function f(a){this.a=a;return{a,b:[a],c(){return}}}":         true,
		"function f(a){return()=>{return}}":                           true,
		"function f(){}":                                              true,
		"function f(a){return a()}":                                   false,
		"function f(a){return a?.b?.()}":                              false,
		"function f(a){return new a}":                                 false,
		"function f(a){return a`b`}":                                  false,
		"function f(a){while(a)a--}":                                  false,
		"function f(a){for(const b of a);}":                           false,
		"function f(...[a]){return[...a]}":                            false,
		"function f([a]){return a}":                                   false,
		"function f(a){return a.offsetTop}":                           false,
		"function f(a){a.innerHTML=''}":                               false,
		"function f(){return localStorage.a}":                         false,
		"async function f(){}":                                        false,
		"function*f(){}":                                              false,
		"function f(a){with(a);}":                                     false,
		"function f(){return class{}}":                                false,
		"function f(a){return a" + long + "}":                         false,
		"function f(){return function(){return 1" + long + "}}":       true,
	} {
		for _, gate := range []instrument.Gate{instrument.Undecided, instrument.Fast, instrument.Slow} {
			r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce,
				Gate: func(start uint32) instrument.Gate {
					if start > uint32(strings.Index(src, "f")) && !strings.HasPrefix(src, "const") {
						return instrument.Unmeasured // an inner function
					}
					return gate
				}})
			if err != nil {
				t.Fatalf("%s: %v", src, err)
			}
			if got, want := len(r.Insertions) == 0, brief && gate != instrument.Slow; got != want {
				t.Errorf("gate %d: brief %t, want %t: %s", gate, got, want, r.Text)
			}
		}
	}
}
