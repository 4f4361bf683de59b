// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

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

// Connection connects to one cluster as one identity. It implements the RESTClientGetter of Helm
// and kubectl and may be used concurrently.
type Connection struct {
	// id distinguishes connections, identity users of clusters, and cluster clusters.
	id       string
	local    bool
	identity string
	cluster  string

	config    *rest.Config
	client    *http.Client
	discovery cachedDiscovery
	cache     *discoveryCache
	mapper    meta.RESTMapper
	// own is the transport if no other connection uses it; nil if client-go manages it.
	own *http.Transport
	// gate guards requests to the cluster; nil for the controller's own cluster.
	gate *gate
	// locator located the cluster; nil if it needed no cloud lookup.
	locator *locator
	// shared is the connection that WithRetrier copied; nil if this is not such a copy.
	shared *Connection
}

var _ genericclioptions.RESTClientGetter = (*Connection)(nil)

// Connect returns a connection that is not part of a pool. It copies config and sends no request.
// Each call of Capabilities on it requests discovery.
func Connect(config *rest.Config) (*Connection, error) {
	return connect(config, newDiscoveryCache(nil))
}

func connect(config *rest.Config, c *discoveryCache) (*Connection, error) {
	config = rest.CopyConfig(config)
	// All clients of this connection build their transports from config: the wrapper is added to
	// it once, here. They decompress answers, and the limit is outside of them.
	config.Wrap(apiretry.NoRedirects)
	config.Wrap(apiretry.LimitAnswers)
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
		id: rand.Text(), cluster: config.Host, config: config, client: client, cache: c,
		discovery: cachedDiscovery{CachedDiscoveryInterface: memory.NewMemCacheClient(dc), cache: c, server: dc},
		mapper:    &mapper{cache: c, discovery: dc},
	}, nil
}

// WithRetrier returns a copy of the connection whose requests r retries. The copy serves one
// action. It shares identity, network connections and discovery with c.
//
// The timeout of requests to another cluster includes all repetitions, so it would end an outage
// before r does, as a failure. r bounds each repetition itself.
func (c *Connection) WithRetrier(r *apiretry.Retrier) genericclioptions.RESTClientGetter {
	own := c.with(r.Transport, 0)
	own.shared = c
	return own
}

// With returns a copy of the connection whose requests pass a transport of its own, which may refuse
// them. The copy shares identity, network connections and discovery with c.
func (c *Connection) With(wrap func(http.RoundTripper) http.RoundTripper) *Connection {
	return c.with(wrap, c.config.Timeout)
}

func (c *Connection) with(wrap func(http.RoundTripper) http.RoundTripper, timeout time.Duration) *Connection {
	own := *c
	own.config = rest.CopyConfig(c.config)
	own.config.Wrap(wrap)
	own.config.Timeout = timeout
	own.client = &http.Client{Transport: wrap(c.client.Transport), CheckRedirect: c.client.CheckRedirect, Timeout: timeout}
	dc, err := discovery.NewDiscoveryClientForConfigAndClient(own.config, own.client)
	if err != nil {
		// Cannot happen: a client was made of the same configuration before.
		return &own
	}
	own.discovery = cachedDiscovery{CachedDiscoveryInterface: c.discovery.CachedDiscoveryInterface, cache: c.cache, server: dc}
	own.mapper = &mapper{cache: c.cache, discovery: dc}
	return &own
}

// Shared returns the connection that all actions of an identity share: c, or the original of c.
func (c *Connection) Shared() genericclioptions.RESTClientGetter {
	if c.shared != nil {
		return c.shared
	}
	return c
}

// Server returns a noun phrase for the API server, for messages.
func (c *Connection) Server() string {
	if c.local {
		return "the API server"
	}
	return "the API server at " + c.config.Host
}

// cachedDiscovery is invalidated together with the discoveryCache. The embedded cache holds all
// of discovery and is filled by its callers only. This package does not call it.
type cachedDiscovery struct {
	discovery.CachedDiscoveryInterface
	cache  *discoveryCache
	server discovery.DiscoveryInterface
}

// RESTClient returns a client that sends requests through this connection, with its retries.
func (d cachedDiscovery) RESTClient() rest.Interface { return d.server.RESTClient() }

// Invalidate makes the next use request discovery.
func (d cachedDiscovery) Invalidate() {
	d.cache.invalidate()
	d.CachedDiscoveryInterface.Invalidate()
}

// Capabilities returns the version of the server and its APIs, as sorted "<group>/<version>" and
// "<group>/<version>/<kind>". Callers must not modify them. It requests discovery only if the
// cached capabilities are stale. As in client-go, an error for which
// discovery.IsGroupDiscoveryFailedError is true comes with the groups that could be listed.
func (c *Connection) Capabilities() (*version.Info, []string, error) {
	current, err := c.cache.current(c.discovery.server)
	if err != nil {
		return nil, nil, err
	}
	return current.version, current.kinds.apis, current.incomplete
}

// HTTPClient returns the HTTP client of the connection, which its users share. It authenticates
// and has no rate limit.
func (c *Connection) HTTPClient() *http.Client { return c.client }

// ID returns a text for the cluster and the user. Two connections have the same text if both are
// equal. It is empty for a connection of an Identity that is Fresh.
func (c *Connection) ID() string { return c.id }

// Identity returns a text for the cluster, the user and the kubeconfig. Two connections have the
// same text if all three are equal. Unlike ID it is never empty for connections of a pool.
// Cached data and clients of one identity must not be used for another.
func (c *Connection) Identity() string { return c.identity }

// Cluster returns a text for the cluster and the kubeconfig. Two connections have the same text if
// both are equal, even if they impersonate other users.
func (c *Connection) Cluster() string { return c.cluster }

// TokenState reports whether requests to the cluster need a token, and whether a valid one is
// cached. If not, the next request fetches one.
func (c *Connection) TokenState() (cached, needed bool) {
	if c.gate == nil || c.gate.tokens == nil {
		return false, false
	}
	return c.gate.tokens.cachedToken() != "", true
}

// Unimpersonated returns a copy of the configuration without impersonation: it acts as the
// controller or as the user of a kubeconfig. Data that it reads must not decide about a release.
func (c *Connection) Unimpersonated() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{}
	return config
}

// Local reports whether the cluster is the controller's own cluster.
func (c *Connection) Local() bool { return c.local }

// Impersonates reports whether the connection impersonates a user.
func (c *Connection) Impersonates() bool { return c.config.Impersonate.UserName != "" }

// Host returns the URL of the API server.
func (c *Connection) Host() string { return c.config.Host }

// ToRESTConfig returns a copy of the configuration.
func (c *Connection) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

// ToDiscoveryClient returns the shared discovery client.
func (c *Connection) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.discovery, nil
}

// ToRESTMapper returns the shared REST mapper.
func (c *Connection) ToRESTMapper() (meta.RESTMapper, error) { return c.mapper, nil }

// ToRawKubeConfigLoader returns a loader of an empty configuration. Helm takes the default
// namespace from its own configuration instead.
func (c *Connection) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), &clientcmd.ConfigOverrides{})
}

// release closes idle network connections. The Connection stays usable: later network connections
// are closed after their idle timeout.
func (c *Connection) release() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// deprecations passes warnings about deprecated APIs to its handler and drops all others. Warnings
// of admission webhooks may quote objects, and so secrets.
type deprecations struct{ to rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (d deprecations) HandleWarningHeader(code int, agent, text string) {
	if strings.Contains(text, " is deprecated in v") && !strings.ContainsAny(text, `"{}`) {
		d.to.HandleWarningHeader(code, agent, text)
	}
}
