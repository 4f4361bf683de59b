// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster/confined"
)

const (
	// maxConnections bounds the number of cached connections.
	maxConnections = 128
	// dialTimeout bounds the TCP connection and the TLS handshake with a server of another
	// cluster, each.
	dialTimeout = 5 * time.Second
)

// Options configure Connections.
type Options struct {
	// Kubeconfig lists the fields of kubeconfigs that are allowed.
	Kubeconfig KubeconfigOptions
	// TransportWrapper wraps the transport of every connection, inside of retries; nil for none.
	TransportWrapper transport.WrapperFunc
	// CloudLookup locates clusters of clouds; nil if they cannot be reached.
	CloudLookup CloudLookup
	// MaxTokenAge bounds how long a token for a Workload is used. Zero is no bound except four
	// fifths of the token's lifetime, which always holds.
	MaxTokenAge time.Duration
	// NoTokenCache uses each token for a Workload once.
	NoTokenCache bool
	// Now returns the current time. It is required.
	Now func() time.Time
}

// maxTokenAge returns the maximum age of tokens; negative for no bound.
func (o Options) maxTokenAge() time.Duration {
	switch {
	case o.NoTokenCache:
		return 0
	case o.MaxTokenAge == 0:
		return -1
	}
	return o.MaxTokenAge
}

// Connections is a pool of connections, one for each identity. It may be used concurrently.
type Connections struct {
	local *rest.Config
	o     Options
	// localDiscovery is the discovery of the controller's own cluster.
	localDiscovery *discoveryCache
	// gates guard the connections to other clusters. Its mutex is acquired after mu, never before.
	gates *gates

	mu sync.Mutex
	// cached holds the elements of recent, whose front is the connection used last.
	cached map[connectionKey]*list.Element
	recent *list.List
}

type cachedConnection struct {
	key        connectionKey
	connection *Connection
	usedAt     time.Time
}

// NewConnections returns a pool. local is the configuration for the controller's own cluster; its
// rate limits and user agent hold for other clusters too.
func NewConnections(local *rest.Config, o Options) *Connections {
	c := &Connections{
		local: rest.CopyConfig(local), o: o, localDiscovery: newDiscoveryCache(o.Now),
		cached: map[connectionKey]*list.Element{}, recent: list.New(),
	}
	c.gates = newGates(o, c.closeIdle)
	return c
}

// SetTokenRequester sets the function that requests tokens for Workloads. It must be called before
// For.
func (c *Connections) SetTokenRequester(requester TokenRequester) { c.gates.setRequester(requester) }

// SetCallbacks sets the callbacks. It must be called before Start.
func (c *Connections) SetCallbacks(callbacks Callbacks) { c.gates.setCallbacks(callbacks) }

// For returns the connection of an identity that Locate has returned. It sends no request. The
// error means that the kubeconfig cannot be used, and quotes nothing of it.
func (c *Connections) For(id Identity) (*Connection, error) {
	key := id.key()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if id.Fresh {
		defer c.drop(now)
		return c.connect(id, newDiscoveryCache(nil))
	}
	found, ok := c.cached[key]
	if !ok {
		connection, err := c.connect(id, c.discoveryFor(key))
		if err != nil {
			return nil, err
		}
		found = c.recent.PushFront(&cachedConnection{key: key, connection: connection})
		c.cached[key] = found
	}
	c.recent.MoveToFront(found)
	e := entry(found)
	e.usedAt = now
	c.drop(now)
	return e.connection, nil
}

// discoveryFor returns the discovery cache of a cluster. All connections by the same kubeconfig
// share it.
func (c *Connections) discoveryFor(key connectionKey) *discoveryCache {
	if !key.remote {
		return c.localDiscovery
	}
	for other, e := range c.cached {
		if other.remote && other.digest == key.digest {
			return entry(e).connection.cache
		}
	}
	return newDiscoveryCache(c.o.Now)
}

// APIsChanged records a change of the APIs of the controller's own cluster. The next use requests
// discovery once, however often it was called. It may be called concurrently.
func (c *Connections) APIsChanged() { c.localDiscovery.recordChange() }

// SetAPIsWatched sets whether APIsChanged is called for each change from now on. While it is not,
// capabilities are cached for 10 seconds only.
func (c *Connections) SetAPIsWatched(watched bool) { c.localDiscovery.setWatched(watched) }

// Len returns the number of cached connections.
func (c *Connections) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

// Admit returns nil if the reconciliation of key may use a connection. If its cluster is not known
// to be reachable, the reconciliation must end: Callbacks.Enqueue is called with key once the state
// changes. key stops waiting for any other cluster. The controller's own cluster is always
// admitted.
func (c *Connections) Admit(connection *Connection, key types.NamespacedName) *Unreachable {
	return c.gates.admit(connection.gate, connection.locator, key)
}

// Locate returns id with the address of its cluster, if that needs a cloud lookup. If address or
// token are not known, the error is not nil and the reconciliation of key must end:
// Callbacks.Enqueue is called with key once the state changes. Locate sends no request.
func (c *Connections) Locate(id Identity, key types.NamespacedName) (Identity, *Unreachable) {
	if id.Workload == nil || id.Workload.Cloud == "" {
		return id, nil
	}
	target, l, unknown := c.gates.locate(id.Workload, key)
	if unknown == nil {
		id.Workload, id.locator = target, l
	}
	return id, unknown
}

// Peek returns the connection of an identity for reads that are no part of a reconciliation. The
// error is not nil if the cluster, or a cloud that locates it, is not known to answer. Unlike
// Locate and Admit, it makes no key wait, and causes no probe. It sends no request.
func (c *Connections) Peek(id Identity) (*Connection, error) {
	if id.Workload != nil && id.Workload.Cloud != "" {
		l := c.gates.locatorOf(id.Workload)
		if l == nil {
			return nil, errors.New("the cloud has not given access to the cluster yet")
		}
		id.Workload, id.locator = l.target(), l
	}
	conn, err := c.For(id)
	if err != nil {
		return nil, err
	}
	if conn.gate != nil && !conn.gate.answers() {
		return nil, fmt.Errorf("%s is not known to answer", conn.gate.host)
	}
	return conn, nil
}

// Forget removes key from the waiters of all clusters.
func (c *Connections) Forget(key types.NamespacedName) { c.gates.forget(key) }

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader uses other
// clusters.
func (c *Connections) NeedLeaderElection() bool { return true }

// Start probes clusters that do not answer, until ctx ends. While it does not run, no request is
// rejected. It returns nil.
func (c *Connections) Start(ctx context.Context) error {
	c.gates.sendProbes(ctx)
	return nil
}

// TokenStats returns the current number of tokens and the counts since the start.
func (c *Connections) TokenStats() TokenStats { return c.gates.tokenStats() }

// Unreachable returns the number of other clusters, and of clouds that locate them, that do not
// answer.
func (c *Connections) Unreachable() int { return c.gates.unreachable() }

// drop releases the connections above maxConnections and those that are idle, and removes the gates
// of unused clusters.
func (c *Connections) drop(now time.Time) {
	c.gates.drop(now)
	for last := c.recent.Back(); last != nil; last = c.recent.Back() {
		e := entry(last)
		if c.recent.Len() <= maxConnections && now.Sub(e.usedAt) < maxIdle {
			return
		}
		c.recent.Remove(last)
		delete(c.cached, e.key)
		e.connection.release()
	}
}

// closeIdle closes idle network connections to a cluster.
func (c *Connections) closeIdle(d digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, e := range c.cached {
		if other.remote && other.digest == d {
			entry(e).connection.release()
		}
	}
}

func entry(e *list.Element) *cachedConnection {
	return e.Value.(*cachedConnection) // the list holds no other type
}

func (c *Connections) connect(id Identity, cache *discoveryCache) (*Connection, error) {
	config := rest.CopyConfig(c.local)
	key := id.key()
	var own *http.Transport
	var g *gate
	if key.remote {
		var err error
		if config, own, err = c.remote(id, newTransport); err != nil {
			return nil, err
		}
		if g, err = c.gateOf(key.digest, id); err != nil {
			return nil, err
		}
		config.Wrap(g.wrap)
		// Outside of the gate: a server that answers something else, or slowly, can be reached.
		confine, err := confined.Transport(config.Host)
		if err != nil {
			return nil, err
		}
		config.Wrap(confine)
		config.Wrap(apiretry.Pace)
		if g.tokens != nil {
			// Outside of the gate: a missing token is not a failure of the cluster.
			config.Wrap(g.tokens.wrap)
		}
	}
	config.Wrap(apiretry.Deadline)
	id.impersonate(config)
	// Inside of the transports that repeat requests, so that it sees each attempt.
	config.Wrap(c.o.TransportWrapper)
	connection, err := connect(config, cache)
	if err != nil {
		return nil, err
	}
	connection.own, connection.local, connection.id, connection.identity = own, !key.remote, key.String(), key.String()
	connection.cluster, connection.gate, connection.locator = LocalCluster, g, id.locator
	if key.remote {
		connection.cluster = clusterOf(key.digest)
	}
	if id.Fresh {
		connection.id = ""
	}
	return connection, nil
}

// gateOf returns the gate of another cluster. All connections by the same kubeconfig share it.
func (c *Connections) gateOf(d digest, id Identity) (*gate, error) {
	return c.gates.get(d, id, func() (*rest.Config, error) {
		config, _, err := c.remote(id, singleUse)
		return config, err
	})
}

// remote returns the configuration for another cluster and its transport. The transport is nil for
// exec plugins, whose transport client-go manages.
func (c *Connections) remote(id Identity, transportOf func(*rest.Config, *tls.Config) *http.Transport) (*rest.Config, *http.Transport, error) {
	var config *rest.Config
	var err error
	if id.Workload != nil {
		config = id.Workload.config()
	} else if config, err = parse(id.Kubeconfig, c.o.Kubeconfig); err != nil {
		return nil, nil, err
	}
	config.QPS, config.Burst, config.UserAgent = c.local.QPS, c.local.Burst, c.local.UserAgent
	config.Wrap(confined.WithoutQuotes)
	if config.ExecProvider != nil {
		return config, nil, nil
	}
	own, err := ownTransport(config, transportOf)
	return config, own, err
}

// ownTransport moves TLS and proxy of config into a transport that only config uses. client-go
// never drops the transports that it caches, and creates one for each client if there is a proxy.
// An own transport cannot serve exec plugins, whose certificates change.
func ownTransport(config *rest.Config, transportOf func(*rest.Config, *tls.Config) *http.Transport) (*http.Transport, error) {
	options, err := config.TransportConfig()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := transport.TLSConfigFor(options)
	if err != nil {
		return nil, fmt.Errorf("certificates and key: %w", err)
	}
	own := transportOf(config, tlsConfig)
	config.Transport, config.TLSClientConfig, config.Proxy = own, rest.TLSClientConfig{}, nil
	return own, nil
}

// newTransport returns a transport that reuses network connections.
func newTransport(config *rest.Config, tlsConfig *tls.Config) *http.Transport {
	return utilnet.SetTransportDefaults(plainTransport(config, tlsConfig))
}

// singleUse returns a transport that opens a network connection for each request. An open one
// does not show that the server can be reached.
func singleUse(config *rest.Config, tlsConfig *tls.Config) *http.Transport {
	single := plainTransport(config, tlsConfig)
	single.DisableKeepAlives = true
	return single
}

func plainTransport(config *rest.Config, tlsConfig *tls.Config) *http.Transport {
	proxy := http.ProxyFromEnvironment
	if config.Proxy != nil {
		proxy = config.Proxy
	}
	return &http.Transport{
		Proxy:               proxy,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     tlsConfig,
		MaxIdleConnsPerHost: 25,
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		DisableCompression:  config.DisableCompression,

		OnProxyConnectResponse: confined.ProxyAnswer,
	}
}
