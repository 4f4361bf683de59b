// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"flag"
	"time"
)

// own ends the help of a flag that the reference does not have. The document of
// flags is made from it.
const own = "; not a flag of helm-controller"

// What the reference keeps of tokens unless it is told otherwise.
const (
	tokenCacheSize     = 100
	tokenCacheDuration = time.Hour
)

func (o *Options) bind(fs *flag.FlagSet) {
	o.bindServers(fs)
	o.bindWork(fs)
	o.bindLeaderElection(fs)
	o.bindWatches(fs)
	o.bindTrust(fs)
	o.bindMemory(fs)
	fs.Var(&o.Gates, "feature-gates", "comma-separated list of `Name=bool`")
	fs.StringVar(&o.LogLevel, "log-level", "info", "trace, debug, info or error")
	fs.StringVar(&o.LogEncoding, "log-encoding", "json", "json or console")
}

func (o *Options) bindServers(fs *flag.FlagSet) {
	fs.StringVar(&o.MetricsAddr, "metrics-addr", ":8080", "address of the metrics endpoint; 0 switches it off")
	fs.StringVar(&o.HealthAddr, "health-addr", ":9440", "address of the health endpoint; 0 switches it off")
	fs.StringVar(&o.EventsAddr, "events-addr", "", "`URL` that events are posted to, that of notification-controller for one; empty posts none")
	fs.BoolVar(&o.EnablePprof, "enable-pprof", false, "serve Go's profiles at /debug/pprof/ beside the metrics"+own)
}

func (o *Options) bindWork(fs *flag.FlagSet) {
	fs.IntVar(&o.Concurrent, "concurrent", 4, "HelmReleases reconciled at the same time")
	fs.Float64Var(&o.KubeAPIQPS, "kube-api-qps", 50, "queries per second to the Kubernetes API, for each release; without limit for the controller itself if the API server shares itself out fairly")
	fs.IntVar(&o.KubeAPIBurst, "kube-api-burst", 300, "queries to the Kubernetes API in a burst")
	fs.DurationVar(&o.HTTPTimeout, "http-timeout", 30*time.Second, "time one download of an artifact may take, tries included")
	fs.IntVar(&o.HTTPRetry, "http-retry", 9, "how often a download of an artifact is tried again within its time, when the server cannot be reached or fails")
	fs.Int64Var(&o.ArtifactMaxBytes, "artifact-max-bytes", 100<<20, "largest artifact that is downloaded, in bytes"+own)
	fs.Int64Var(&o.ArtifactCacheBytes, "artifact-cache-bytes", 64<<20,
		"what is kept of artifacts in memory, in bytes, so that releases of one chart download it once; 0 keeps nothing"+own)
	fs.DurationVar(&o.MinRetryDelay, "min-retry-delay", 750*time.Millisecond, "first delay after a failure")
	fs.DurationVar(&o.MaxRetryDelay, "max-retry-delay", 15*time.Minute, "longest delay after failures in a row")
	fs.IntVar(&o.IntervalJitter, "interval-jitter-percentage", 5, "how far intervals are spread, in percent")
	fs.DurationVar(&o.RequeueDependency, "requeue-dependency", 30*time.Second,
		"time between looks at a dependency that is not ready; mostly its progress is noticed at once")
	fs.StringVar(&o.SnapshotDigestAlgo, "snapshot-digest-algo", "sha256",
		"algorithm of the digests in history; others are refused, but those helm-controller recorded are verified")
	fs.Func("override-manager", "field manager whose `fields` are taken from it where drift is looked for; may be given more than once", func(name string) error {
		if name == "" {
			return errors.New("it needs a name")
		}
		o.OverrideManagers = append(o.OverrideManagers, name)
		return nil
	})
}

func (o *Options) bindLeaderElection(fs *flag.FlagSet) {
	fs.DurationVar(&o.GracefulShutdown, "graceful-shutdown-timeout", 600*time.Second, "time running actions have to end at shutdown")
	fs.BoolVar(&o.LeaderElect, "enable-leader-election", false, "let only one replica act at a time")
	fs.BoolVar(&o.LeaderElectReleaseOnEnd, "leader-election-release-on-cancel", true, "give the lease away at shutdown")
	fs.DurationVar(&o.LeaseDuration, "leader-election-lease-duration", 35*time.Second, "age after which a lease may be taken over")
	fs.DurationVar(&o.LeaseRenewDeadline, "leader-election-renew-deadline", 30*time.Second, "time the leader tries to renew before it gives up")
	fs.DurationVar(&o.LeaseRetryPeriod, "leader-election-retry-period", 5*time.Second, "time between tries")
}

func (o *Options) bindWatches(fs *flag.FlagSet) {
	fs.BoolVar(&o.WatchAllNamespaces, "watch-all-namespaces", true, "watch every namespace, not only RUNTIME_NAMESPACE")
	fs.StringVar(&o.WatchLabels, "watch-label-selector", "",
		"label `selector` of the HelmReleases to look after, like sharding.fluxcd.io/key=shard1; empty selects all")
	fs.StringVar(&o.WatchConfigs, "watch-configs-label-selector", "reconcile.fluxcd.io/watch=Enabled",
		"label `selector` of the ConfigMaps and Secrets whose changes lead to upgrades at once; empty selects all")
}

func (o *Options) bindTrust(fs *flag.FlagSet) {
	fs.DurationVar(&o.OperationTimeout, "operation-timeout", time.Hour, "longest time that an Operation may wait, and one of its Jobs run"+own)
	fs.StringVar(&o.ClusterID, "cluster-id", "", "value of the label app.vworkspace.io/cluster-id on what is made for Operations; empty for none"+own)
	fs.StringVar(&o.DefaultServiceAccount, "default-service-account", "",
		"ServiceAccount that Helm acts as where a HelmRelease names none; empty is the controller's own")
	fs.StringVar(&o.DefaultKubeconfigServiceAccount, "default-kubeconfig-service-account", "",
		"ServiceAccount whose tokens lead to other clusters where a ConfigMap names none; needs the feature gate ObjectLevelWorkloadIdentity")
	fs.BoolVar(&o.InsecureKubeconfigExec, "insecure-kubeconfig-exec", false, "let kubeconfigs in Secrets execute commands in the controller")
	fs.BoolVar(&o.InsecureKubeconfigTLS, "insecure-kubeconfig-tls", false, "let kubeconfigs in Secrets switch off the verification of API servers")
	fs.BoolVar(&o.NoCrossNamespaceRefs, "no-cross-namespace-refs", false, "refuse sources in other namespaces than the HelmRelease's")
	fs.IntVar(&o.TokenCacheMaxSize, "token-cache-max-size", tokenCacheSize, "tokens for other clusters that are kept: 0 keeps none, and anything else one for each cluster")
	fs.DurationVar(&o.TokenCacheMaxDuration, "token-cache-max-duration", tokenCacheDuration, "how long such a token is used at most; four fifths of its life if that is shorter")
}

func (o *Options) bindMemory(fs *flag.FlagSet) {
	fs.IntVar(&o.Memory.Threshold, "oom-watch-memory-threshold", 95,
		"share of the memory limit, in percent, at which the controller shuts down rather than be killed; with the feature gate OOMWatch")
	fs.DurationVar(&o.Memory.Interval, "oom-watch-interval", 500*time.Millisecond, "time between looks at the memory that is used")
	fs.StringVar(&o.Memory.MaxPath, "oom-watch-max-memory-path", "", "file that holds the memory limit, in bytes; empty is that of the cgroup")
	fs.StringVar(&o.Memory.CurrentPath, "oom-watch-current-memory-path", "", "file that holds the memory used, in bytes; empty is that of the cgroup")
}
