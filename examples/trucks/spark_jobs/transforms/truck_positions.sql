SELECT truck, lat, lon, km_per_hour, if(km_per_hour < 3, 'stands', 'drives') AS state, measured_at
FROM positions
