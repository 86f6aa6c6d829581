//go:build !linux

package session

import (
	"context"
	"errors"
)

// painter is for X displays. Only Linux has them here.
type painter struct{}

func newPainter(string) (*painter, error)    { return nil, errors.ErrUnsupported }
func (*painter) Green(context.Context) error { return errors.ErrUnsupported }
func (*painter) Red(context.Context) error   { return errors.ErrUnsupported }
func (*painter) close()                      {}
