// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloudauth gets into clusters of cloud providers: it finds out where one is, and
// gets a token for it, as a ServiceAccount or as the controller itself.
//
// It keeps nothing, and it is the only one that knows the providers' libraries.
package cloudauth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/auth"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Cluster is one of a cloud, and who wants to get there.
type Cluster struct {
	// Provider is aws, azure or gcp.
	Provider string
	// Resource is the name that the cloud has for the cluster.
	Resource string
	// Address is the URL of its API server, and CA verifies that, in PEM. What is empty
	// is looked up.
	Address string
	CA      string
	// Audiences are whom the tokens of the ServiceAccount are for; empty for whom the
	// provider wants.
	Audiences []string
	// ServiceAccount is who wants to get there, in the controller's own cluster, and
	// Annotations, which are its own, say who that is in the cloud. Without a name it is
	// the controller, as whom the cloud knows by its environment.
	ServiceAccount types.NamespacedName
	Annotations    map[string]string
}

// Access is a way into a cluster.
type Access struct {
	// Address is the API server, as the cloud or the Cluster says it, and CA verifies
	// it, in PEM; empty for the authorities of the system.
	Address string
	CA      []byte
	Token   string
	// Expires is when the token does; zero if that is not known.
	Expires time.Time
}

// TokenRequester returns a token of a ServiceAccount.
type TokenRequester func(ctx context.Context, account types.NamespacedName, audiences []string) (token string, expires time.Time, err error)

// Get asks a cloud for a way into one of its clusters. It takes as long as ctx allows,
// if nobody answers. Its errors are *AccessError, and hold nothing that is secret.
func Get(ctx context.Context, c Cluster, mint TokenRequester) (access Access, err error) {
	hidden := &secrets{}
	defer func() {
		if err != nil {
			access, err = Access{}, refused(ctx, err, hidden)
		}
	}()
	p, err := providerOf(c.Provider)
	if err != nil {
		return Access{}, err
	}
	return c.get(ctx, p, mint, hidden)
}

func (c *Cluster) get(ctx context.Context, p auth.RESTConfigProvider, mint TokenRequester, hidden *secrets) (access Access, err error) {
	// What a cloud leaves out of its answer, as of a cluster that is being made, the
	// library takes to be there.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the cloud's answer lacks something; the cluster may not be ready yet")
		}
	}()
	options := c.options()
	each, err := p.GetAccessTokenOptionsForCluster(options...)
	if err != nil {
		return Access{}, err
	}
	identity, err := c.identity(ctx, p, mint, hidden)
	if err != nil {
		return Access{}, err
	}
	var tokens []auth.Token
	var expires time.Time
	for _, more := range each {
		token, err := identity(append(c.options(), more...))
		if err != nil {
			return Access{}, err
		}
		hidden.hide(token)
		tokens = append(tokens, token)
		_, until := inside(token)
		expires = earlier(expires, until)
	}
	config, err := p.NewRESTConfig(ctx, tokens, options...)
	if err != nil {
		return Access{}, err
	}
	hidden.hide(config)
	expires = earlier(expires, config.ExpiresAt)
	return c.confirm(Access{Address: config.Host, CA: config.CAData, Token: config.BearerToken, Expires: expires})
}

// identity returns what gets tokens of the cloud, as whoever wants to get there.
func (c *Cluster) identity(ctx context.Context, p auth.RESTConfigProvider, mint TokenRequester, hidden *secrets) (func([]auth.Option) (auth.Token, error), error) {
	if c.itself() {
		return func(options []auth.Option) (auth.Token, error) { return p.NewControllerToken(ctx, options...) }, nil
	}
	account := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.ServiceAccount.Namespace, Name: c.ServiceAccount.Name, Annotations: c.Annotations,
	}}
	// Before a token is asked for, which would be for nothing.
	if _, err := p.GetIdentity(account); err != nil {
		return nil, fmt.Errorf("ServiceAccount '%s': %w", c.ServiceAccount, err)
	}
	audiences := c.Audiences
	if len(audiences) == 0 {
		var err error
		if audiences, err = p.GetAudiences(ctx, account); err != nil {
			return nil, fmt.Errorf("ServiceAccount '%s': %w", c.ServiceAccount, err)
		}
	}
	token, _, err := mint(ctx, c.ServiceAccount, audiences)
	if err != nil {
		return nil, err
	}
	hidden.add(token)
	return func(options []auth.Option) (auth.Token, error) {
		return p.NewTokenForServiceAccount(ctx, token, account, options...)
	}, nil
}

// itself reports whether it is the controller that wants to get there.
func (c *Cluster) itself() bool { return c.ServiceAccount.Name == "" }

func (c *Cluster) options() []auth.Option {
	options := []auth.Option{auth.WithClusterResource(c.Resource), auth.WithAudiences(c.Audiences...)}
	if c.itself() {
		// Else it would be taken from the ConfigMap. Of several addresses that Azure knows,
		// it is the one to be chosen.
		if c.Provider == azureName {
			options = append(options, auth.WithClusterAddress(c.Address))
		}
		return options
	}
	return append(options, auth.WithClusterAddress(c.Address), auth.WithCAData(c.CA))
}

// confirm keeps what is the controller's own from going anywhere but where the cloud
// says that the cluster is: whoever writes the address may be somebody else.
func (c *Cluster) confirm(a Access) (Access, error) {
	if !c.itself() {
		return a, nil
	}
	if c.Address != "" && server(c.Address) != server(a.Address) {
		return Access{}, fmt.Errorf("key 'address' is not where the cloud says that the cluster is, %s: "+
			"without serviceAccountName, nothing is sent anywhere else", a.Address)
	}
	if c.CA != "" {
		a.CA = []byte(c.CA)
	}
	return a, nil
}

// server returns the host and port of an address, in one form; empty for none.
func server(address string) string {
	parsed, err := auth.ParseClusterAddress(address)
	if err != nil {
		return ""
	}
	return parsed
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
