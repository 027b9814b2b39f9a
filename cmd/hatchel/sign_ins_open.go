package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"hatchel/runtime/durable/grant"
	"hatchel/runtime/durable/state"
)

// localSignIns lists and ends sign-ins in the state store, which servers may have open at the same time.
type localSignIns struct {
	store   state.Store
	grants  *grant.Store
	user    string // who ends them, as in os:ann
	audited bool   // a server with an audit log records who has ended one
}

func (f *signInsFlags) openLocal(cmd *cobra.Command) (signInSource, error) {
	store, cfg, err := f.openState(cmd)
	if err != nil {
		return nil, err
	}
	var keys [2][]byte
	if block := cfg.State; block != nil {
		for n, key := range []string{block.Key.Reveal(), block.PreviousKey.Reveal()} {
			if key != "" {
				keys[n] = []byte(key)
			}
		}
	}
	grants, err := grant.OpenWithoutKeys(cmd.Context(), store, grant.Options{Key: keys[0], PreviousKey: keys[1]})
	if err == nil {
		err = grants.CheckKey(cmd.Context())
	}
	switch {
	case errors.Is(err, grant.ErrSealed):
		store.Close()
		return nil, failf("the sign-ins in %s are sealed with another key than key and previous_key of the state "+
			"block: set the secret that the server has, or use --server URL", f.place.Name)
	case err != nil:
		store.Close()
		return nil, failf("%s", err)
	}
	return &localSignIns{store, grants, localUser(), isAudited(cfg)}, nil
}

// Close implements signInSource.
func (l *localSignIns) Close() { l.store.Close() }

// ListSignIns implements signInSource.
func (l *localSignIns) ListSignIns(ctx context.Context, q grant.Query) ([]*grant.SignIn, string, error) {
	return l.grants.List(ctx, q)
}

// EndSignIn implements signInSource.
func (l *localSignIns) EndSignIn(ctx context.Context, id string) (*grant.SignIn, error) {
	g, err := l.grants.Find(ctx, id)
	ended := false
	if err == nil && g != nil {
		if l.audited {
			ended, err = l.grants.RevokeUnrecorded(ctx, id, l.user)
		} else {
			ended, err = l.grants.Revoke(ctx, id)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !ended:
		return nil, grant.ErrNotFound
	}
	return g.SignIn(), nil
}
