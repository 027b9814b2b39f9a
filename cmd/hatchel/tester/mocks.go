package tester

import (
	"context"
	"errors"

	"hatchel/adapters"
)

type mocks struct{ set adapters.Mocks }

func (s *Suite) newMocks(c *Case) (*mocks, error) { return &mocks{}, nil }
func (m *mocks) sent() []any                      { return nil }
func (m *mocks) close()                           {}
func (m *mocks) check(*checker) bool              { return false }
func (r *running) queryAfter(ctx context.Context) error { return errors.ErrUnsupported }
