package sql

import (
	"context"
	"errors"
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl"
)

// instances are the databases of a connection with instances, each with a pool of its own. It implements database.
type instances struct {
	*identifier
	names     []string
	databases map[string]database // by the key of the instance
}

// openDatabases opens the database of a connection, or each instance as if it were a connection with one url. All
// instances sign in with the credentials of one login.
func openDatabases(
	ctx context.Context, c *serverConnection, env adapters.Env, l *login,
	newDatabase func(context.Context, *serverConnection, adapters.Env, *login) (database, error),
) (any, error) {
	if c.Instances == nil {
		return newDatabase(ctx, c, env, l)
	}
	set := &instances{identifier: newIdentifier(c, env.ConnectionName), databases: map[string]database{}}
	for _, of := range c.Instances {
		own, ownEnv := *c, env
		own.URL, own.Instances = of.Text, nil
		ownEnv.ConnectionName = hcl.InstanceName(env.ConnectionName, of.Name)
		opened, err := newDatabase(ctx, &own, ownEnv, l.clone())
		if err != nil {
			return nil, err
		}
		set.names = append(set.names, of.Name)
		set.databases[of.Name] = opened
	}
	return set, nil
}

// of returns the database of an identity. The login of the connection is that of its first instance.
func (s *instances) of(as identity) database {
	if as.instance == "" {
		return s.databases[s.names[0]]
	}
	return s.databases[as.instance]
}

// Ping implements adapters.Health.
func (s *instances) Ping(ctx context.Context) error {
	var errs []error
	for _, name := range s.names {
		if err := s.databases[name].Ping(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *instances) read(ctx context.Context, as identity, use func(transaction) error) error {
	return s.of(as).read(ctx, as, use)
}

func (s *instances) write(ctx context.Context, as identity, use func(transaction) error) error {
	return s.of(as).write(ctx, as, use)
}

func (s *instances) describe(ctx context.Context, as identity, text string, writes bool) (statementInfo, error) {
	return s.of(as).describe(ctx, as, text, writes)
}
