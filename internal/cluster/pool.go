// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"container/list"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	// maxConnections bounds how many connections are kept.
	maxConnections = 128
	// maxIdle is how long a connection is kept that nobody asks for. Releases are
	// looked at more often than that, usually.
	maxIdle = 30 * time.Minute
	// dialTimeout is how long it may take to reach a server in another cluster, and to
	// agree with it on how to go on.
	dialTimeout = 5 * time.Second
)

// LocalCluster is what Connection.Cluster returns for the controller's own cluster.
const LocalCluster = "local"

// Identity is a cluster and somebody in it.
type Identity struct {
	// User to be impersonated, "system:serviceaccount:<namespace>:<name>"; empty for
	// whoever the configuration authenticates as.
	User string
	// Kubeconfig is the content of one that leads to another cluster; nil for the
	// cluster of the controller.
	Kubeconfig []byte
	// Workload leads to another cluster in place of a kubeconfig; nil if none does.
	Workload *Workload
	// locator looked up the Workload; nil if it did not have to be. Locate sets it.
	locator *locator
	// Fresh asks for a connection that nobody else uses and that is not kept.
	Fresh bool
}

// Connections hands out one connection per identity, the same to everybody who
// asks. It may be used concurrently.
type Connections struct {
	local *rest.Config
	trust KubeconfigOptions
	now   func() time.Time
	// guard is what every request goes through last; nil for nothing.
	guard transport.WrapperFunc
	// tokens are for Workloads; nil if nobody hands out any.
	tokens TokenRequester
	// clouds finds clusters; nil if none can be found.
	clouds CloudLookup
	// keep bounds how long tokens are used; negative does not.
	keep time.Duration

	counts tokenCounts

	// home is what the controller's own cluster offers.
	home *catalogue

	mu sync.Mutex
	// kept finds the elements of recent, the one asked for last at its front.
	kept   map[connectionKey]*list.Element
	recent *list.List
	// gates stand before other clusters, by the digest of the kubeconfig.
	gates map[digest]*gate
	// waiting finds the gate at which somebody waits.
	waiting  map[types.NamespacedName]*gate
	listener Callbacks

	// kick holds something if there may be a probe to be sent, and probing is true as
	// long as somebody sends them.
	kick    chan struct{}
	probing atomic.Bool
}

// digest is that of a kubeconfig.
type digest = [sha256.Size]byte

// Callbacks is told what becomes of other clusters. Its functions must not block, and
// any may be nil.
type Callbacks struct {
	// Enqueue is called with whoever was not admitted, once there is news.
	Enqueue func(types.NamespacedName)
	// Unreachable is called when the way to a cluster begins or ceases to be one that
	// leads nowhere. Several ways may lead to the same host.
	Unreachable func(host string, is bool)
	// Reachable is called with the Connection.Cluster that can be reached again.
	Reachable func(cluster string)
}

// connectionKey tells connections apart by what their kubeconfigs say, so that
// one that has changed leads to another connection.
type connectionKey struct {
	user   string
	remote bool
	digest digest
}

func (i Identity) key() connectionKey {
	if i.Workload != nil {
		return connectionKey{user: i.User, remote: true, digest: i.Workload.digest()}
	}
	return connectionKey{user: i.User, remote: i.Kubeconfig != nil, digest: sha256.Sum256(i.Kubeconfig)}
}

// String differs between any two keys.
func (k connectionKey) String() string { return fmt.Sprintf("%s %t %x", k.user, k.remote, k.digest) }

// clusterOf is the Connection.Cluster of a kubeconfig.
func clusterOf(d digest) string { return fmt.Sprintf("%x", d) }

type keptConnection struct {
	key        connectionKey
	connection *Connection
	asked      time.Time
}

// NewConnections returns connections that start from local, the way into the
// controller's own cluster. Its limits of requests and its user agent hold for
// other clusters too.
func NewConnections(local *rest.Config, trust KubeconfigOptions, now func() time.Time) *Connections {
	return &Connections{
		local: rest.CopyConfig(local), trust: trust, now: now, home: newCatalogue(now), keep: -1,
		kept: map[connectionKey]*list.Element{}, recent: list.New(),
		gates: map[digest]*gate{}, waiting: map[types.NamespacedName]*gate{}, kick: make(chan struct{}, 1),
	}
}

// WithTransportWrapper has every connection, to whichever cluster, send its requests through
// guard; nil is nothing. It must be called before connections are asked for.
func (c *Connections) WithTransportWrapper(guard transport.WrapperFunc) *Connections {
	c.guard = guard
	return c
}

// SetTokenRequester sets where tokens for Workloads come from. It is called before For.
func (c *Connections) SetTokenRequester(tokens TokenRequester) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = tokens
}

// WithMaxTokenAge bounds how long tokens for Workloads are used, however long they hold; zero
// uses each but once. Without, it is four fifths of their life.
func (c *Connections) WithMaxTokenAge(longest time.Duration) *Connections {
	c.keep = longest
	return c
}

// For returns the connection of an identity, which Locate has seen. Nothing is sent. An error means
// that the kubeconfig cannot be used, and quotes nothing of it.
func (c *Connections) For(id Identity) (*Connection, error) {
	key := id.key()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if id.Fresh {
		defer c.drop(now)
		return c.connect(id, newCatalogue(nil))
	}
	found, ok := c.kept[key]
	if !ok {
		connection, err := c.connect(id, c.catalogueFor(key))
		if err != nil {
			return nil, err
		}
		found = c.recent.PushFront(&keptConnection{key: key, connection: connection})
		c.kept[key] = found
	}
	c.recent.MoveToFront(found)
	kept := entry(found)
	kept.asked = now
	c.drop(now)
	return kept.connection, nil
}

// catalogueFor returns the catalogue of a cluster, which everybody shares who gets
// there with the same kubeconfig, whomever they impersonate.
func (c *Connections) catalogueFor(key connectionKey) *catalogue {
	if !key.remote {
		return c.home
	}
	for other, kept := range c.kept {
		if other.remote && other.digest == key.digest {
			return entry(kept).connection.catalogue
		}
	}
	return newCatalogue(c.now)
}

// APIsChanged says that the API server of the controller's own cluster may
// offer something else than before. It costs one request for discovery at the next
// use, however often it is called. It may be called concurrently.
func (c *Connections) APIsChanged() { c.home.note() }

// SetAPIsWatched says whether somebody calls APIsChanged from now on.
// Without, what the server offers is trusted for 10 seconds only.
func (c *Connections) SetAPIsWatched(watched bool) { c.home.setWatched(watched) }

// Len returns how many connections are kept.
func (c *Connections) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

// drop releases the connections that are too many or too long unused, and forgets
// what is known of clusters that nobody asks for.
func (c *Connections) drop(now time.Time) {
	c.dropGates(now)
	for last := c.recent.Back(); last != nil; last = c.recent.Back() {
		kept := entry(last)
		if c.recent.Len() <= maxConnections && now.Sub(kept.asked) < maxIdle {
			return
		}
		c.recent.Remove(last)
		delete(c.kept, kept.key)
		kept.connection.release()
	}
}

// dropGates keeps a gate before a cloud as long as there is one before a cluster that
// was found through it, and may ask it for tokens.
func (c *Connections) dropGates(now time.Time) {
	unused := map[digest]*gate{}
	for key, g := range c.gates {
		if g.unused(now) {
			unused[key] = g
		}
	}
	for key, g := range c.gates {
		if g.via != nil && unused[key] == nil {
			delete(unused, g.via.key)
		}
	}
	for key, g := range unused {
		c.removeGate(key, g)
	}
}

func entry(e *list.Element) *keptConnection {
	return e.Value.(*keptConnection) //nolint:forcetypeassert // nothing else is ever put in
}

func (c *Connections) connect(id Identity, offered *catalogue) (*Connection, error) {
	config := rest.CopyConfig(c.local)
	key := id.key()
	var own *http.Transport
	var g *gate
	if key.remote {
		var err error
		if config, own, err = c.remote(id, newTransport); err != nil {
			return nil, err
		}
		if g, err = c.gateFor(key.digest, id); err != nil {
			return nil, err
		}
		config.Wrap(g.wrap)
		if g.bearer != nil {
			// Around the gate: that there is no token is no fault of the cluster.
			config.Wrap(g.bearer.wrap)
		}
	}
	config.Impersonate.UserName = id.User
	// First, so that what sends a request twice asks twice.
	config.Wrap(c.guard)
	connection, err := connect(config, offered)
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

// remote makes the configuration for another cluster, with a transport of its own if
// that is possible, and else without.
func (c *Connections) remote(id Identity, transportOf func(*rest.Config, *tls.Config) *http.Transport) (*rest.Config, *http.Transport, error) {
	var config *rest.Config
	var err error
	if id.Workload != nil {
		config = id.Workload.config()
	} else if config, err = parse(id.Kubeconfig, c.trust); err != nil {
		return nil, nil, err
	}
	config.QPS, config.Burst, config.UserAgent = c.local.QPS, c.local.Burst, c.local.UserAgent
	if config.ExecProvider != nil {
		return config, nil, nil
	}
	own, err := ownTransport(config, transportOf)
	return config, own, err
}

// ownTransport moves what config says about TLS and proxies into a transport of
// its own. client-go's would be kept for as long as client-go likes, and made
// anew by every client where there is a proxy. It cannot serve exec plugins,
// whose certificates change.
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

// newTransport returns a transport for many requests.
func newTransport(config *rest.Config, tlsConfig *tls.Config) *http.Transport {
	return utilnet.SetTransportDefaults(plainTransport(config, tlsConfig))
}

// singleUse returns a transport that connects anew for each request: what is known of
// the network connections that are there is no answer.
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
	}
}
