package adapters

import (
	"context"
	"fmt"

	"hatchel/hcl"
)

// Instanced is the handle of a connection to several backends, its instances, of which each call uses one.
type Instanced interface {
	// Instance returns the handle of the instance with a key of the block, which may implement Health and Pooled.
	Instance(key string) any
}

// InstanceChooser is an Action whose connection may have instances.
type InstanceChooser interface {
	// ChooseInstance returns the key of the instance that the call uses, or an empty one if the connection has no
	// instances. It sends nothing, and its error is one that Do would return.
	ChooseInstance(call *Call) (key string, err error)
}

// ConnectionGuards are the Guards of a connection, by the keys of its instances: each of these has the whole limits, so
// that one which is slow or does not answer fails only the calls that use it. A connection without instances has one,
// whose key is empty. Nil Guards have no limits.
type ConnectionGuards map[string]*ConnectionGuard

// NewConnectionGuards returns the Guards of a connection, or nil if its block sets no limits. Turns returns what counts
// at the rate of the connection or instance with a name, and changed is called with the name and each new state of its
// breaker.
func NewConnectionGuards(
	conn *hcl.Connection, turns func(name string) Turns, changed func(name, state string),
) ConnectionGuards {
	var guards ConnectionGuards
	for _, key := range conn.Instances() {
		name := hcl.InstanceName(conn.Name, key)
		guard := NewConnectionGuard(name, conn.Limits, turns(name))
		if guard == nil {
			return nil
		}
		guard.changed = func(state string) { changed(name, state) }
		if guards == nil {
			guards = ConnectionGuards{}
		}
		guards[key] = guard
	}
	return guards
}

// Do runs a call of an action within the limits of the instance that the call uses.
func (g ConnectionGuards) Do(ctx context.Context, a Action, call *Call) (any, error) {
	if g == nil {
		return a.Do(ctx, call)
	}
	key := ""
	if chooser, ok := a.(InstanceChooser); ok {
		var err error
		if key, err = chooser.ChooseInstance(call); err != nil {
			return nil, err
		}
	}
	guard, ok := g[key]
	if !ok {
		return nil, fmt.Errorf("the connection has no limits for the instance %q", key)
	}
	return guard.Do(ctx, a, call)
}
