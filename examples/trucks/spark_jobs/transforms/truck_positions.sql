SELECT truck, lat, lon, km_per_hour, km_per_hour >= 3 AS drives, measured_at FROM positions
