// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster answers which cluster a release lives in and as whom it is
// touched. It makes one connection per answer and keeps it: discovery, the REST
// mapper and the transport are shared by everything that uses the same one.
//
// It hands out connections and never uses them itself.
package cluster

import (
	"crypto/rand"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// Connection is a way into one cluster under one identity. It implements the
// RESTClientGetter that Helm and kubectl speak, and may be used concurrently.
type Connection struct {
	// id and local tell connections apart, identity tells users of clusters apart, and
	// cluster clusters.
	id       string
	local    bool
	identity string
	cluster  string

	config    *rest.Config
	client    *http.Client
	discovery cachedDiscovery
	catalogue *catalogue
	mapper    meta.RESTMapper
	// own is the transport if it belongs to this connection alone; nil if
	// client-go shares it out.
	own *http.Transport
	// gate stands before it; nil before the controller's own cluster.
	gate *gate
	// locator found the cluster; nil if nobody had to.
	locator *locator
	// shared is the connection that WithRetrier copied; nil if this is none of its copies.
	shared *Connection
}

var _ genericclioptions.RESTClientGetter = (*Connection)(nil)

// Connect prepares a connection of its own; nothing is sent before it is used. The
// config is copied. What the server offers is asked for anew whenever Capabilities is
// called.
func Connect(config *rest.Config) (*Connection, error) { return connect(config, newCatalogue(nil)) }

func connect(config *rest.Config, c *catalogue) (*Connection, error) {
	config = rest.CopyConfig(config)
	// Here, so that it happens once: each client made of this connection builds its
	// transport from the same config.
	config.Wrap(apiretry.OnLeaderChange)
	if config.WarningHandler == nil {
		config.WarningHandler = rest.WarningLogger{}
	}
	config.WarningHandler, config.WarningHandlerWithContext = deprecations{to: config.WarningHandler}, nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("HTTP client for %s: %w", config.Host, err)
	}
	dc, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("discovery client for %s: %w", config.Host, err)
	}
	return &Connection{
		id: rand.Text(), cluster: config.Host, config: config, client: client, catalogue: c,
		discovery: cachedDiscovery{CachedDiscoveryInterface: memory.NewMemCacheClient(dc), catalogue: c, server: dc},
		mapper:    &mapper{catalogue: c, discovery: dc},
	}, nil
}

// WithRetrier returns a copy of the connection whose requests r repeats. The copy serves
// one action: identity, network connections and what was discovered are those of c.
func (c *Connection) WithRetrier(r *apiretry.Retrier) genericclioptions.RESTClientGetter {
	own := *c
	own.shared = c
	own.config = rest.CopyConfig(c.config)
	own.config.Wrap(r.Transport)
	own.client = &http.Client{Transport: r.Transport(c.client.Transport), Timeout: c.client.Timeout, CheckRedirect: c.client.CheckRedirect}
	dc, err := discovery.NewDiscoveryClientForConfigAndClient(own.config, own.client)
	if err != nil {
		// The same configuration has made a client before.
		return &own
	}
	own.discovery = cachedDiscovery{CachedDiscoveryInterface: c.discovery.CachedDiscoveryInterface, catalogue: c.catalogue, server: dc}
	own.mapper = &mapper{catalogue: c.catalogue, discovery: dc}
	return &own
}

// Shared returns the connection that the actions of an identity have in common: c, or
// the one that c is a copy of.
func (c *Connection) Shared() genericclioptions.RESTClientGetter {
	if c.shared != nil {
		return c.shared
	}
	return c
}

// Server names the API server for people.
func (c *Connection) Server() string {
	if c.local {
		return "the API server"
	}
	return "the API server at " + c.config.Host
}

// cachedDiscovery forgets with the catalogue. What it remembers itself, which is
// all that discovery tells, is filled only by who asks for it; nothing here does.
type cachedDiscovery struct {
	discovery.CachedDiscoveryInterface
	catalogue *catalogue
	server    discovery.DiscoveryInterface
}

// RESTClient returns a client that sends requests as this connection does, with its retries.
func (d cachedDiscovery) RESTClient() rest.Interface { return d.server.RESTClient() }

// Invalidate forgets what was discovered.
func (d cachedDiscovery) Invalidate() {
	d.catalogue.spoil()
	d.CachedDiscoveryInterface.Invalidate()
}

// Capabilities returns the version of the server and all that it offers, as sorted
// "<group>/<version>" and "<group>/<version>/<kind>", to be read only. It asks the
// server only if what it said earlier may not hold any more. As with client-go, an
// error that discovery.IsGroupDiscoveryFailedError knows comes with the other
// results, which lack some groups.
func (c *Connection) Capabilities() (*version.Info, []string, error) {
	offered, err := c.catalogue.current(c.discovery.server)
	if err != nil {
		return nil, nil, err
	}
	return offered.version, offered.kinds.apis, offered.incomplete
}

// HTTPClient returns the client that all who use the connection share. It
// authenticates, and limits no rates.
func (c *Connection) HTTPClient() *http.Client { return c.client }

// ID is the same for connections to the same cluster as the same user, and
// differs between all others. It is empty if the connection is used but once.
func (c *Connection) ID() string { return c.id }

// Identity is the same for connections to the same cluster as the same user, by the
// same kubeconfig, and differs between all others. Unlike ID it tells who a
// connection is that is used but once. What was learned, or a client that was made,
// by one identity must not serve another.
func (c *Connection) Identity() string { return c.identity }

// Cluster is the same for connections to the same cluster by the same kubeconfig,
// whomever they impersonate, and differs between all others.
func (c *Connection) Cluster() string { return c.cluster }

// Unimpersonated returns a copy of the configuration that acts as whoever it
// authenticates as: the controller, or the user of a kubeconfig. What it reads must
// decide nothing about a release.
func (c *Connection) Unimpersonated() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{}
	return config
}

// Local reports whether the connection leads to the controller's own cluster.
func (c *Connection) Local() bool { return c.local }

// Impersonates reports whether the connection is used as somebody else than whoever
// its configuration authenticates as.
func (c *Connection) Impersonates() bool { return c.config.Impersonate.UserName != "" }

// Host is the address of the API server.
func (c *Connection) Host() string { return c.config.Host }

// ToRESTConfig returns a copy of the configuration.
func (c *Connection) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// ToDiscoveryClient returns the shared discovery client.
func (c *Connection) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.discovery, nil
}

// ToRESTMapper returns the shared REST mapper.
func (c *Connection) ToRESTMapper() (meta.RESTMapper, error) { return c.mapper, nil }

// ToRawKubeConfigLoader returns a loader of nothing: callers that want a default
// namespace from it are told theirs in other ways.
func (c *Connection) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{})
}

// release lets the network connections go that nobody uses. Whoever still has
// the Connection may go on: what is opened after this ends when it has been idle
// for a while.
func (c *Connection) release() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}
