package profile

import "context"

// openers open the engines that options select. An opener returns nil for an engine that is not
// selected.
func openers() []func(context.Context, Options) (engine, error) {
	return []func(context.Context, Options) (engine, error){openNative, openSockets, openTrace}
}
