// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

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

// Cluster is a cluster of a cloud and the identity to use for it.
type Cluster struct {
	// Provider is aws, azure or gcp.
	Provider string
	// Resource is the name of the cluster in the cloud.
	Resource string
	// Address is the URL of the API server; empty to look it up.
	Address string
	// CA is the certificate authority of the API server in PEM; empty to look it up. It is always
	// looked up if the identity is the controller.
	CA string
	// Audiences are the audiences of the ServiceAccount's token; empty for the provider's
	// default.
	Audiences []string
	// ServiceAccount is the identity, in the controller's own cluster. Without a name it is the
	// controller, whose identity the cloud provides through the environment.
	ServiceAccount types.NamespacedName
	// Annotations of the ServiceAccount select its identity in the cloud.
	Annotations map[string]string
}

// Access is the address of a cluster and a token for it.
type Access struct {
	// Address is the address of the API server, from the cloud or from the Cluster.
	Address string
	// CA is the certificate authority of the API server in PEM; empty for the system's authorities.
	CA    []byte
	Token string
	// Expires is when Token expires; zero if that is not known.
	Expires time.Time
}

// TokenRequester requests a token of a ServiceAccount and returns it with its expiry.
type TokenRequester func(ctx context.Context, account types.NamespacedName, audiences []string) (token string, expires time.Time, err error)

// Get requests access to a cluster from its cloud. Without an answer it returns when ctx ends. Its
// errors are of type *AccessError and contain no secrets.
func Get(ctx context.Context, c Cluster, request TokenRequester) (access Access, err error) {
	hidden := &secrets{}
	defer func() {
		if err != nil {
			access, err = Access{}, accessError(ctx, err, hidden)
		}
	}()
	p, err := providerOf(c.Provider)
	if err != nil {
		return Access{}, err
	}
	return c.get(ctx, p, request, hidden)
}

func (c *Cluster) get(ctx context.Context, p auth.RESTConfigProvider, request TokenRequester, hidden *secrets) (access Access, err error) {
	// The libraries panic if an answer lacks a field, as that for a cluster that is being created
	// does.
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("the answer of the cloud is incomplete; the cluster may not be ready yet")
		}
	}()
	options := c.options()
	each, err := p.GetAccessTokenOptionsForCluster(options...)
	if err != nil {
		return Access{}, err
	}
	identity, err := c.identity(ctx, p, request, hidden)
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
		_, until := contentOf(token)
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

// identity returns a function that requests tokens of the cloud as the identity of the Cluster.
func (c *Cluster) identity(ctx context.Context, p auth.RESTConfigProvider, request TokenRequester, hidden *secrets) (func([]auth.Option) (auth.Token, error), error) {
	if c.isController() {
		return func(options []auth.Option) (auth.Token, error) { return p.NewControllerToken(ctx, options...) }, nil
	}
	account := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.ServiceAccount.Namespace, Name: c.ServiceAccount.Name, Annotations: c.Annotations,
	}}
	// Checked first: without an identity a token would be requested in vain.
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
	token, _, err := request(ctx, c.ServiceAccount, audiences)
	if err != nil {
		return nil, err
	}
	hidden.add(token)
	return func(options []auth.Option) (auth.Token, error) {
		return p.NewTokenForServiceAccount(ctx, token, account, options...)
	}, nil
}

// isController reports whether the identity is the controller.
func (c *Cluster) isController() bool { return c.ServiceAccount.Name == "" }

func (c *Cluster) options() []auth.Option {
	options := []auth.Option{auth.WithClusterResource(c.Resource), auth.WithAudiences(c.Audiences...)}
	if c.isController() {
		// Other providers would return the address of the ConfigMap unchecked. Azure selects one
		// of its own addresses by it.
		if c.Provider == azureName {
			options = append(options, auth.WithClusterAddress(c.Address))
		}
		return options
	}
	return append(options, auth.WithClusterAddress(c.Address), auth.WithCAData(c.CA))
}

// confirm rejects an address that differs from the address in the cloud if the identity is the
// controller. Otherwise the author of the address could receive the controller's token. The author
// of a CA could intercept it too, so the controller uses the CA from the cloud.
func (c *Cluster) confirm(a Access) (Access, error) {
	if !c.isController() {
		return a, nil
	}
	if c.Address != "" && server(c.Address) != server(a.Address) {
		return Access{}, fmt.Errorf("key 'address' differs from the address in the cloud, %s: "+
			"without serviceAccountName, requests are sent to that only", a.Address)
	}
	return a, nil
}

// server returns host and port of an address in a canonical form; empty for none.
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
