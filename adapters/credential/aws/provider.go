package aws

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"hatchel/adapters/credential"
)

// Provider holds the credentials of one block. It asks nobody before a request needs one, and may be used
// concurrently.
type Provider struct {
	source  *credential.Cache[Credentials]
	role    *credential.Cache[Credentials] // nil without role_arn
	roleARN string
	holder  atomic.Pointer[string] // whose credential the source has given; nil before
}

// NewProvider returns the credentials of a block on a machine.
func NewProvider(i *Identity, cloud *credential.Cloud, fetches *credential.Fetches) *Provider {
	s := &sources{cloud: cloud, region: i.Region, only: i.Source}
	p := &Provider{roleARN: i.RoleARN}
	p.source = credential.NewCache(fetches, func(ctx context.Context) (Credentials, credential.Life, error) {
		c, life, err := s.fetch(ctx)
		if err == nil {
			holder := "access key " + c.KeyID + " of " + c.Source
			p.holder.Store(&holder)
		}
		return c, life, err
	})
	if i.RoleARN != "" {
		p.role = credential.NewCache(fetches, func(ctx context.Context) (Credentials, credential.Life, error) {
			return p.assumeRole(ctx, s.sts(), i)
		})
	}
	return p
}

// Get returns valid credentials. Its error is a fault of the call.
func (p *Provider) Get(ctx context.Context) (Credentials, error) {
	c, err := p.current().Get(ctx)
	if err != nil {
		return c, credential.SignInError(err)
	}
	return c, nil
}

func (p *Provider) current() *credential.Cache[Credentials] {
	if p.role != nil {
		return p.role
	}
	return p.source
}

// Refuse drops credentials that a service has refused, unless they were replaced already.
func (p *Provider) Refuse(refused Credentials) {
	p.current().Invalidate(func(c Credentials) bool { return c.KeyID == refused.KeyID })
}

// assumeRole returns the credentials of the role. It replaces those of the source if STS says that they have ended.
func (p *Provider) assumeRole(
	ctx context.Context, s *sts, i *Identity,
) (c Credentials, life credential.Life, err error) {
	for range 2 {
		requested := time.Now()
		var with Credentials
		if with, err = p.source.Get(ctx); err != nil {
			return c, life, err
		}
		form := url.Values{"Action": {"AssumeRole"}, "RoleArn": {i.RoleARN}, "RoleSessionName": {i.SessionName}}
		if i.ExternalID != "" {
			form.Set("ExternalId", i.ExternalID)
		}
		if c, err = s.ask(ctx, &with, form); err == nil {
			c.Source = with.Source
			return c, c.life(requested), nil
		}
		err = fmt.Errorf("%s was not assumed: %w", i.RoleARN, err)
		if _, expired := errors.AsType[expiredError](err); !expired {
			return c, life, err
		}
		p.source.Invalidate(func(c Credentials) bool { return c.KeyID == with.KeyID })
	}
	return c, life, err
}

// Identity says whose credentials the provider has, and where they are from; empty before there are some.
func (p *Provider) Identity() string {
	holder := p.holder.Load()
	switch {
	case holder == nil:
		return ""
	case p.roleARN != "":
		return p.roleARN + " by " + *holder
	}
	return *holder
}

// Status says what the provider holds.
func (p *Provider) Status() credential.Status { return p.current().Status() }
